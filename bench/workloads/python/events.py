"""Objects with attributes: a queue of timed events between machines of a factory, as in simulations."""

import heapq
import random


class Part:
    def __init__(self, number: int, steps: list[int]) -> None:
        self.number = number
        self.steps = steps
        self.history: list[tuple[float, int]] = []


class Machine:
    def __init__(self, number: int, speed: float) -> None:
        self.number = number
        self.speed = speed
        self.busy_until = 0.0
        self.done = 0

    def accept(self, part: Part, now: float) -> float:
        start = max(now, self.busy_until)
        self.busy_until = start + self.speed * (1 + part.number % 3)
        self.done += 1
        part.history.append((start, self.number))
        return self.busy_until


class Event:
    def __init__(self, time: float, part: Part) -> None:
        self.time = time
        self.part = part

    def __lt__(self, other: "Event") -> bool:
        return self.time < other.time


class Factory:
    def __init__(self, machines: int, seed: int) -> None:
        chance = random.Random(seed)
        self.machines = [Machine(i, 0.5 + chance.random()) for i in range(machines)]
        self.queue: list[Event] = []
        self.finished: list[Part] = []

    def add(self, part: Part, time: float) -> None:
        heapq.heappush(self.queue, Event(time, part))

    def run(self) -> None:
        while self.queue:
            event = heapq.heappop(self.queue)
            part = event.part
            if not part.steps:
                self.finished.append(part)
                continue
            machine = self.machines[part.steps.pop()]
            self.add(part, machine.accept(part, event.time))


def main() -> None:
    total = 0.0
    for seed in range(6):
        chance = random.Random(seed)
        factory = Factory(20, seed)
        for number in range(4_000):
            factory.add(Part(number, [chance.randrange(20) for _ in range(10)]), chance.random() * 100)
        factory.run()
        total += sum(machine.busy_until for machine in factory.machines) + len(factory.finished)
    print(round(total, 3))


main()
