// Each of four functions fills a container of the C++ library, of which no part is inlined into it.
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

std::map<int, long> map;
std::list<int> list;
std::vector<std::string> names;
std::vector<std::shared_ptr<int>> shared;

void fill_map(int count) {
  for (int i = 0; i < count; ++i) map[i] = i;
}
void fill_list(int count) {
  for (int i = 0; i < count; ++i) list.push_back(i);
}
void name_all(int count) {
  for (int i = 0; i < count; ++i) names.push_back("a name that is too long for its string, " + std::to_string(i));
}
void share(int count) {
  for (int i = 0; i < count; ++i) shared.push_back(std::make_shared<int>(i));
}

int main() {
  fill_map(20'000);
  fill_list(20'000);
  name_all(20'000);
  share(20'000);
  return map.size() + list.size() + names.size() + shared.size() == 80'000 ? 0 : 1;
}
