/* The guest's one program: a line in on the serial port, a line out. Who gives no order for two minutes has died, and the guest
 * switches itself off, so that no emulator outlives its story. */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define SILENCE_MS 120000

static int open_raw(const char *path)
{
    int port = open(path, O_RDWR | O_NOCTTY);
    struct termios settings;
    if (port >= 0 && tcgetattr(port, &settings) == 0) {
        cfmakeraw(&settings);
        tcsetattr(port, TCSANOW, &settings);
    }
    return port;
}

/* Without its line feed; false when there is none to come. */
static int read_line(int port, char *line, size_t room)
{
    struct pollfd wait = { .fd = port, .events = POLLIN };
    for (size_t length = 0; length < room; length++) {
        if (poll(&wait, 1, SILENCE_MS) <= 0 || read(port, line + length, 1) != 1)
            return 0;
        if (line[length] == '\n') {
            line[length] = '\0';
            return 1;
        }
    }
    return 0;
}

static void write_line(int port, char *answer)
{
    size_t length = strlen(answer), written = 0;
    answer[length++] = '\n';
    while (written < length) {
        ssize_t count = write(port, answer + written, length - written);
        if (count <= 0)
            return;
        written += (size_t)count;
    }
}

/* The eight bytes at an offset, as a number: "word N". */
static void word(struct end *end, const char *arguments, char *answer)
{
    uint64_t offset, value;
    if (sscanf(arguments, "%" SCNu64, &offset) != 1 || offset > AREA - sizeof value) {
        failed(answer, "word", EINVAL);
        return;
    }
    memcpy(&value, end->memory + offset, sizeof value);
    snprintf(answer, ANSWER, "word %" PRIu64, value);
}

/* A command of the shell: "ended STATUS". */
static void shell(const char *command, char *answer)
{
    int status = system(command);
    if (status < 0 || !WIFEXITED(status))
        failed(answer, "shell", status < 0 ? errno : EINTR);
    else
        snprintf(answer, ANSWER, "ended %d", WEXITSTATUS(status));
}

static void obey(struct end *end, char *line, char *answer)
{
    char *space = strchr(line, ' ');
    const char *arguments = "";
    if (space != NULL) {
        *space = '\0';
        arguments = space + 1;
    }
    if (strcmp(line, "create") == 0)
        end_create(end, arguments, answer);
    else if (strcmp(line, "connect") == 0)
        end_connect(end, arguments, answer);
    else if (strcmp(line, "fill") == 0)
        pattern_fill(end, arguments, answer);
    else if (strcmp(line, "check") == 0)
        pattern_check(end, arguments, answer);
    else if (strcmp(line, "word") == 0)
        word(end, arguments, answer);
    else if (strcmp(line, "take") == 0)
        work_take(end, answer);
    else if (strcmp(line, "reply") == 0)
        datagram_reply(end, arguments, answer);
    else if (strcmp(line, "violations") == 0)
        datagram_violations(end, answer);
    else if (strcmp(line, "shell") == 0)
        shell(arguments, answer);
    else
        work_post(end, line, arguments, answer);
}

int main(int count, char **words)
{
    static char line[ANSWER], answer[ANSWER + 1];
    static struct end end;
    int port = count == 2 ? open_raw(words[1]) : -1;
    if (port < 0) {
        fprintf(stderr, "guest PORT: %s\n", strerror(errno));
        return 1;
    }
    int reason = link_add("rxe0", "eth0");
    if (reason != 0)
        failed(answer, "rdma link add", reason);
    else if (end_open(&end, answer) == 0)
        snprintf(answer, ANSWER, "ready");
    write_line(port, answer);
    while (read_line(port, line, sizeof line)) {
        obey(&end, line, answer);
        write_line(port, answer);
    }
    sync();
    reboot(RB_POWER_OFF);
    return 1;
}
