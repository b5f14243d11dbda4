/* The layout: the number of arguments as an int, the path of the executable with zeros behind it up
 * to the next boundary, the arguments, the environment. An argument may be empty. Other processes
 * write this memory, so nothing in it is trusted.
 */
#include "record/process_arguments.h"

#include <string.h>

size_t process_arguments_parse(const char *content, size_t size, char *words, size_t capacity) {
    int count;
    size_t length = 0, at = sizeof count;
    if (size <= sizeof count || capacity == 0)
        return 0;
    memcpy(&count, content, sizeof count);
    at += strnlen(content + at, size - at);
    while (at < size && content[at] == 0)
        at++;
    for (int i = 0; i < count && at < size; i++) {
        size_t word = strnlen(content + at, size - at);
        if (at + word == size || length + word + 1 > capacity)
            break;
        memcpy(words + length, content + at, word + 1);
        length += word + 1;
        at += word + 1;
    }
    words[length ? length - 1 : 0] = 0;
    return length ? length - 1 : 0;
}
