template<int N, long M> struct B {
  static const int v = B<N - 1, 2 * M>::v ^ B<N - 1, 2 * M + 1>::v;
};
template<long M> struct B<0, M> { static const int v = M; };
static const int many = B<24, 1>::v;
