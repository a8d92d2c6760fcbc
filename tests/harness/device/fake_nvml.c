/* A management library that says what a test tells it to: the functions that kgrade asks, and nothing else. */
#include <string.h>

typedef struct { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; } process;

static int capability[2] = {9, 0}, boards = 2;
static unsigned sm = 1980, celsius = 41, milliwatts = 120500, looks = 0, count = 0;
static unsigned long long throttle = 0;
static process processes[8];
static unsigned divided = 0, minors = 0;

void tell_throttle(unsigned long long bits) { throttle = bits; }
void tell_clock(unsigned mhz) { sm = mhz; }
void tell_boards(int number) { boards = number; }
void tell_minors(unsigned first) { minors = first; }
void tell_divided(unsigned instances) { divided = instances; }
void tell_process(unsigned pid, unsigned long long used) { processes[count].pid = pid; processes[count++].used = used; }
void tell_no_process(void) { count = 0; }
unsigned asked(void) { return looks; }

int nvmlInit_v2(void) { return boards < 0 ? 9 : 0; }
int nvmlSystemGetDriverVersion(char *to, unsigned room) { return strlen(strcpy(to, "575.57.08")) >= room; }
int nvmlDeviceGetCount_v2(unsigned *to) { *to = boards; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **to) { *to = (void *)(long)(index + 1); return 0; }
int nvmlDeviceGetHandleByUUID(const char *uuid, void **to) { *to = (void *)(long)(uuid[4] - '0' + 1); return 0; }
int nvmlDeviceGetName(void *board, char *to, unsigned room) { return strlen(strcpy(to, "NVIDIA H200")) >= room; }
int nvmlDeviceGetUUID(void *board, char *to, unsigned room) {
    strcpy(to, (long)board >= 10 ? "MIG-0" : "GPU-0");
    to[4] += (long)board % 10 - ((long)board < 10);
    return strlen(to) >= room;
}
int nvmlDeviceGetMinorNumber(void *board, unsigned *to) { *to = minors + (long)board - 1; return 0; }
int nvmlDeviceGetCudaComputeCapability(void *board, int *major, int *minor) {
    *major = (long)board == 1 ? 8 : capability[0];
    *minor = capability[1];
    return 0;
}
int nvmlDeviceGetMigMode(void *board, unsigned *now, unsigned *pending) {
    *now = *pending = divided > 0 && (long)board == 2;
    return 0;
}
int nvmlDeviceGetMaxMigDeviceCount(void *board, unsigned *to) { *to = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *board, unsigned index, void **to) {
    *to = (void *)(long)(10 + index);
    return index < divided ? 0 : 6;
}
int nvmlDeviceGetClockInfo(void *board, int kind, unsigned *to) { *to = kind == 1 ? sm : 3201; return 0; }
int nvmlDeviceGetMaxClockInfo(void *board, int kind, unsigned *to) { *to = 1980; return 0; }
int nvmlDeviceGetTemperature(void *board, int sensor, unsigned *to) { *to = celsius; return 0; }
int nvmlDeviceGetPowerUsage(void *board, unsigned *to) { *to = milliwatts; return 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void *board, unsigned long long *to) {
    looks++;
    *to = throttle;
    return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *board, unsigned *room, process *to) {
    memcpy(to, processes, count * sizeof *to);
    *room = count;
    return 0;
}
