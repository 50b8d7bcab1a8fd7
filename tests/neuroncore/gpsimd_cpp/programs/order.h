inline void put_in_order(int *a, int n) {
  for (int i = 1; i < n; i++)
    for (int j = i; j > 0 && a[j] < a[j - 1]; j--) {
      int larger = a[j - 1];
      a[j - 1] = a[j];
      a[j] = larger;
    }
}
