"""Floats and small objects: rays through a scene of spheres, as in ray tracers."""

import math


class Vector:
    __slots__ = ("x", "y", "z")

    def __init__(self, x: float, y: float, z: float) -> None:
        self.x = x
        self.y = y
        self.z = z

    def __add__(self, other: "Vector") -> "Vector":
        return Vector(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: "Vector") -> "Vector":
        return Vector(self.x - other.x, self.y - other.y, self.z - other.z)

    def scaled(self, by: float) -> "Vector":
        return Vector(self.x * by, self.y * by, self.z * by)

    def dot(self, other: "Vector") -> float:
        return self.x * other.x + self.y * other.y + self.z * other.z

    def unit(self) -> "Vector":
        return self.scaled(1 / math.sqrt(self.dot(self)))


class Sphere:
    def __init__(self, centre: Vector, radius: float) -> None:
        self.centre = centre
        self.radius = radius

    def distance(self, start: Vector, direction: Vector) -> float | None:
        to_centre = self.centre - start
        along = to_centre.dot(direction)
        beside = to_centre.dot(to_centre) - along * along
        inside = self.radius * self.radius - beside
        return None if along < 0 or inside < 0 else along - math.sqrt(inside)


def colour(spheres: list[Sphere], start: Vector, direction: Vector, depth: int) -> float:
    hits = [(found, sphere) for sphere in spheres if (found := sphere.distance(start, direction)) is not None]
    if not hits or depth == 0:
        return 0.1 + 0.1 * direction.y
    distance, sphere = min(hits, key=lambda hit: hit[0])
    place = start + direction.scaled(distance)
    normal = (place - sphere.centre).unit()
    mirrored = direction - normal.scaled(2 * normal.dot(direction))
    return 0.5 * max(0.0, normal.y) + 0.5 * colour(spheres, place + normal.scaled(0.001), mirrored, depth - 1)


def main() -> None:
    spheres = [Sphere(Vector(i % 3 - 1.0, i // 3 - 1.0, 5.0 + i % 2), 0.6) for i in range(9)]
    eye = Vector(0.0, 0.0, 0.0)
    total = 0.0
    for y in range(210):
        for x in range(270):
            total += colour(spheres, eye, Vector(x / 135 - 1, y / 105 - 1, 1.5).unit(), 3)
    print(round(total, 6))


main()
