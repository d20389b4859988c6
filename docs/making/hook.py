"""A hook of MkDocs: what pages link to outside docs/ becomes part of the site.

The pages are written for a repository browser, so `../examples/custom_psi.py` leads out of docs/, where MkDocs
cannot follow. Every such file gets a place in the site: pages and pictures the path that they have in the repository,
sources a page that shows them. Pictures in docs/pictures are put into the page itself, so that they follow its
light or dark scheme.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(?<=\]\()(?P<path>[^()\s#:]+)(?P<anchor>#[^()\s]*)?(?=\))")
PICTURE = re.compile(r'<p><img alt="[^"]*" src="(?:\.\./)*(pictures/[\w-]+\.svg)" */?></p>')
LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json", ".csv": "text", ".cff": "yaml"}


def on_files(files: Files, config: Any) -> Files:
    """The files of docs/, and those of the repository that they link to, and so on."""
    waiting = [_source(file.src_uri) for file in files.documentation_pages()]
    for page in waiting:
        for path in _targets(page):
            uri = _place(path)
            if uri not in files.src_uris:
                files.append(_file(path, uri, config))
                if path.endswith(".md"):
                    waiting.append(path)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """The page with links that lead where the site has the file."""
    uri = page.file.src_uri

    def lead(match: re.Match[str]) -> str:
        path = _resolved(_source(uri), match["path"])
        if path is None:
            return match[0]
        return posixpath.relpath(_place(path), posixpath.dirname(uri) or ".") + (match["anchor"] or "")

    return LINK.sub(lead, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """The page with its drawings in it instead of beside it."""

    def drawn(match: re.Match[str]) -> str:
        svg = (ROOT / "docs" / match[1]).read_text(encoding="utf-8")
        return f'<div class="picture" data-search-exclude>{svg}</div>'

    return PICTURE.sub(drawn, html)


def _targets(page: str) -> list[str]:
    """What a page links to outside docs/, as paths in the repository."""
    text = (ROOT / page).read_text(encoding="utf-8") if (ROOT / page).is_file() else ""
    found = (_resolved(page, match["path"]) for match in LINK.finditer(text))
    return [path for path in dict.fromkeys(found) if path is not None and not path.startswith("docs/")]


def _resolved(page: str, link: str) -> str | None:
    """The file that a link of a page means, as a path in the repository; None if there is none."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
    return path if (ROOT / path).is_file() else None


def _source(uri: str) -> str:
    """Where the repository has a page of the site."""
    return f"docs/{uri}" if (ROOT / "docs" / uri).is_file() else uri


def _place(path: str) -> str:
    """Where the site has a file of the repository."""
    if path == "README.md":
        return "index.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"{path}.md" if Path(path).suffix in LANGUAGES else path


def _file(path: str, uri: str, config: Any) -> File:
    """A file for the site: as it is, or a page that shows a source."""
    if uri == path:
        return File(path, str(ROOT), config.site_dir, config.use_directory_urls)
    text = (ROOT / path).read_text(encoding="utf-8")
    shown = f"# {path}\n\n~~~~{LANGUAGES[Path(path).suffix]}\n{text}~~~~\n"
    return File.generated(config, uri, content=shown, inclusion=InclusionLevel.NOT_IN_NAV)
