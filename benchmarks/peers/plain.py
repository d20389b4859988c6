"""Federated averaging by hand: a plain loop in PyTorch, without any simulator."""

import torch
import work


def main() -> None:
    """Train, measure and print."""
    asked = work.arguments(__doc__)
    data, module, meter = work.load(asked.data), work.model(asked.workload), work.Meter()
    model = [value.detach().clone() for value in module.parameters()]
    for _ in range(work.WARM_UP + asked.rounds):
        model = one_round(module, model, data)
        meter.mark()
    load(module, model)
    meter.report("plain", "torch", asked, work.accuracy(module, data))


def one_round(module: torch.nn.Module, model: list[torch.Tensor], data: work.Data) -> list[torch.Tensor]:
    """The mean of what the clients make of the model."""
    total = [torch.zeros_like(value) for value in model]
    for x, y in data.clients:
        load(module, model)
        work.train(module, x, y)
        torch._foreach_add_(total, [value.detach() for value in module.parameters()], alpha=1 / len(data.clients))
    return total


@torch.no_grad()
def load(module: torch.nn.Module, model: list[torch.Tensor]) -> None:
    """Give the module the parameters of the model."""
    torch._foreach_copy_(list(module.parameters()), model)


if __name__ == "__main__":
    main()
