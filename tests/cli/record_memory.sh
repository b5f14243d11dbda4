# ridge record --memory: which functions allocate, and what is never freed. The program's result does
# not change, whatever it does with memory.
cat > leak.c <<'END'
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static char *kept[2000];
__attribute__((noinline)) void leak(int i) {
    kept[i] = malloc(50000);
    memset(kept[i], 1, 50000);
}
__attribute__((noinline)) void churn(void) {
    char *block = calloc(10, 1000);
    block = realloc(block, 40000);
    free(block);
    if (posix_memalign((void **)&block, 64, 5000) == 0)
        free(block);
    free(memalign(128, 300));
    free(aligned_alloc(64, 640));
    free(NULL);
}
static void *work(void *unused) {
    for (int i = 0; i < 2000; i++)
        churn();
    return unused;
}
int main(void) {
    pthread_t threads[4];
    int status = 1;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2000; i++) {
        leak(i);
        usleep(100);
    }
    if (fork() == 0) {
        for (int i = 0; i < 2000; i++)
            free(kept[i]);
        work(NULL);
        _exit(0);
    }
    wait(&status);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("child %d, kept %d\n", status, kept[1999][49999]);
    return 5;
}
END
cat > mine.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
#include <stddef.h>
static unsigned long count;
void *malloc(size_t bytes) {
    static void *(*next)(size_t);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "malloc");
    count++;
    return next(bytes);
}
__attribute__((destructor)) static void finish(void) {
    if (count > 2000 && write(1, "mine was called\n", 16)) {}
}
END
[ -f "$(dirname "$RIDGE")/libridge-memory.so" ] || { echo "SKIP there is no libridge-memory.so here" && exit 77; }
cc -O1 -fno-builtin -pthread -o leak leak.c && cc -O1 -shared -fPIC -o mine.so mine.c -ldl || exit 1
"$RIDGE" record --memory -q -f -o leak.ridge -- ./leak; echo "status $?"
figure() { # NAME FUNCTION
    "$RIDGE" report leak.ridge --section memory --format csv > /dev/null 2>&1
    "$RIDGE" report leak.ridge --json | tr -d ' \n' | grep -o '"heap":\[.*' | tr '{' '\n' | grep "\"function\":\"$2\"" | grep -o "\"$1\":[0-9]*" | cut -d: -f2
}
between() { [ "$2" -ge "$1" ] && [ "$2" -le "$3" ] && echo "about right" || echo "$2 is not between $1 and $3"; }
if "$RIDGE" query leak.ridge "SELECT count(*) FROM allocation WHERE stack IS NOT NULL" --format csv | grep -q '^0$'; then
    echo "SKIP stacks are not recorded here" && exit 77 # without perf events addresses have no names
fi
echo "leak allocated: $(between 60000000 "$(figure allocated_bytes leak)" 140000000)"
echo "leak never freed: $(between 30000000 "$(figure kept_bytes leak)" 110000000)"
echo "churn never freed: $(between 0 "$(figure kept_bytes churn)" 10000000)"
"$RIDGE" report leak.ridge --section findings | grep -o 'never freed, .* of them by leak' | sed 's/freed, .* of/freed, N of/'
LD_PRELOAD=$PWD/mine.so "$RIDGE" record --memory -q -f -o mine.ridge -- ./leak | sort; echo "status $?"
"$RIDGE" record --memory -q -f -o true.ridge -- true; echo "status $?"
"$RIDGE" record --memory -p $$; echo "status $?"
