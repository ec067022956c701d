// Classes whose tables of virtual functions can be counted by hand: vtables_test.cc does.
struct Animal {
  virtual ~Animal();
  virtual int legs() const;
  virtual const char* name() const;
};
Animal::~Animal() = default;
int Animal::legs() const { return 4; }
const char* Animal::name() const { return "animal"; }

struct Dog : Animal {
  ~Dog() override;
  int legs() const override;
};
Dog::~Dog() = default;
int Dog::legs() const { return 4; }

struct Robot {
  virtual ~Robot();
  virtual void charge();
  virtual void stop();
};
Robot::~Robot() = default;
void Robot::charge() {}
void Robot::stop() {}

struct RoboDog : Dog, Robot {
  ~RoboDog() override;
  void charge() override;
  virtual int fetch();
};
RoboDog::~RoboDog() = default;
void RoboDog::charge() {}
int RoboDog::fetch() { return 1; }
