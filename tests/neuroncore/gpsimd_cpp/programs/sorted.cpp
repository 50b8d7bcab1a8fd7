#include <stdio.h>
#include "order.h"
static int __attribute__((noinline)) first(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += i % 3 == 0 ? i * 7 : i ^ n;
  return sum;
}


template <class T> T twice(T *v) {
  put_in_order(v, 3);
  return 2 * v[0];
}
int main(int count, char **) {
  int v[] = {count, 2, first(count)};
#line 500 "other.cpp"
  if (count > 5)
    puts("many");
  return twice(v);
}
