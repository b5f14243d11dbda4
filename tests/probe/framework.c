/* A library with a profiler in it, linked against CUPTI as a framework's is. */
int cuptiSubscribe(void **subscriber, void (*callback)(void), void *user);
int framework_profiles(void);

static void called(void) {}

int framework_profiles(void) {
    void *subscriber;
    return cuptiSubscribe(&subscriber, called, 0);
}
