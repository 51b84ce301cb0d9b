/* Bytes that differ from place to place and from seed to seed: byte 3 of each value of SplitMix64, as at the other end. */
#include "guest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static uint8_t next(uint64_t *state)
{
    uint64_t mixed = *state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    mixed ^= mixed >> 31;
    return (uint8_t)(mixed >> 24);
}

/* OFFSET LENGTH SEED, inside the memory. */
static int parse(const char *arguments, uint64_t *offset, uint64_t *length, uint64_t *seed)
{
    int count = sscanf(arguments, "%" SCNu64 " %" SCNu64 " %" SCNu64, offset, length, seed);
    return count == 3 && *offset <= AREA && *length <= AREA - *offset ? 0 : EINVAL;
}

int pattern_fill(struct end *end, const char *arguments, char *answer)
{
    uint64_t offset, length, seed;
    if (parse(arguments, &offset, &length, &seed) != 0)
        return failed(answer, "fill", EINVAL);
    for (uint64_t index = 0; index < length; index++)
        end->memory[offset + index] = next(&seed);
    snprintf(answer, ANSWER, "filled");
    return 0;
}

int pattern_check(struct end *end, const char *arguments, char *answer)
{
    uint64_t offset, length, seed;
    if (parse(arguments, &offset, &length, &seed) != 0)
        return failed(answer, "check", EINVAL);
    for (uint64_t index = 0; index < length; index++) {
        uint8_t expected = next(&seed), found = end->memory[offset + index];
        if (found != expected) {
            snprintf(answer, ANSWER, "bad byte %" PRIu64 " of %" PRIu64 ": 0x%02x, expected 0x%02x", index, length, found,
                     expected);
            return -1;
        }
    }
    snprintf(answer, ANSWER, "good");
    return 0;
}
