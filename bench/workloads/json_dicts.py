"""Malloc-bound Python: makes records, writes them as JSON, reads them back, groups and counts them with dicts.

Run by Debian's python3.11 under PYTHONMALLOC=malloc, so that every object is a malloc: some 15 million events.
"""

import json
import random
import sys


def make_records(count: int, seed: int) -> list[dict]:
    random_state = random.Random(seed)
    words = [f"word{i:03d}" for i in range(400)]
    records = []
    for i in range(count):
        records.append(
            {
                "id": i,
                "name": " ".join(random_state.choices(words, k=3)),
                "tags": random_state.choices(words, k=random_state.randrange(1, 7)),
                "position": {"x": random_state.random(), "y": random_state.random()},
                "score": random_state.randrange(10_000),
            }
        )
    return records


def group(records: list[dict]) -> dict[str, list[int]]:
    by_tag: dict[str, list[int]] = {}
    for record in records:
        for tag in record["tags"]:
            by_tag.setdefault(tag, []).append(record["id"])
    return by_tag


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    total = 0
    for seed in range(rounds):
        text = json.dumps(make_records(20_000, seed))
        records = json.loads(text)
        by_tag = group(records)
        counts = {tag: len(ids) for tag, ids in by_tag.items()}
        scores = sorted((record["score"], record["name"].upper()) for record in records)
        total += len(text) + sum(counts.values()) + scores[0][0]
    print(total)


main()
