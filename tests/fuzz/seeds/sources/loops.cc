#define A for {
void f() {
  for (;;) { x(R"a(})a", '}'); do { } while (y); }
  while (1)
    if (a) b(); else c();
}
