// Reads the events of a Chrome trace with simdjson's on-demand parser: name, time and duration of each.
// ridge's scanner does the same in json_ours.c. Prints seconds of CPU time, and the largest memory in use.
//
//   json FILE
#include <cstdio>
#include <ctime>
#include <simdjson.h>
#include <sys/resource.h>

int main(int argc, char **argv) {
    using namespace simdjson;
    if (argc != 2)
        return 2;
    ondemand::parser parser;
    padded_string text = padded_string::load(argv[1]);
    ondemand::document document = parser.iterate(text);
    size_t events = 0;
    double sum = 0;
    for (ondemand::object event : document["traceEvents"].get_array()) {
        std::string_view name;
        double ts = 0, duration = 0;
        for (auto field : event) {
            std::string_view key = field.unescaped_key();
            if (key == "name")
                name = field.value().get_string();
            else if (key == "ts")
                ts = field.value().get_double();
            else if (key == "dur")
                duration = field.value().get_double();
        }
        events++;
        sum += ts + duration + (double)name.size();
    }
    double took = (double)clock() / CLOCKS_PER_SEC;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("simdjson  %zu events  %.3f s  %ld MiB  (%g)\n", events, took,
           usage.ru_maxrss / 1024, sum);
    return 0;
}
