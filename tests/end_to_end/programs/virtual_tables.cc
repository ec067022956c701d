// Two classes with virtual functions.
#include <cstdio>

struct Shape {
  virtual ~Shape();
  virtual double area() const;
  double side = 1;
};
Shape::~Shape() = default;
double Shape::area() const { return side * side; }

struct Circle : Shape {
  ~Circle() override;
  double area() const override;
};
Circle::~Circle() = default;
double Circle::area() const { return 3 * side * side; }

int main() {
  const Circle circle;
  const Shape& shape = circle;
  return std::printf("%f\n", shape.area()) > 0 ? 0 : 1;
}
