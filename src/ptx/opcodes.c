#include "ptx/opcodes.h"

#include <string.h>

/* How a row's resources are found. */
typedef enum family {
    PURE, /* arithmetic, conversion, comparison, moves */
    LOAD, /* by state space and memory-order modifiers */
    STORE,
    HINT,       /* prefetch: reads, changes nothing */
    TEXTURE,    /* read-only path */
    COPY,       /* cp.async of 4 to 16 bytes */
    COPY_GROUP, /* cp.async.commit_group */
    ORDERED, /* stays in order with all memory, barriers and asynchronous work; arithmetic passes */
    WARP,    /* exchanges between lanes; in order with each other and with barriers */
    ALIGNED, /* computes with a whole warp, touches no memory */
    ALIGNED_LOAD,
    ALIGNED_STORE,
    MATRIX,       /* wgmma.mma_async */
    MATRIX_GROUP, /* wgmma.commit_group */
    MATRIX_ORDER, /* wgmma.fence, wgmma.wait_group */
    TENSOR,       /* tcgen05.*: in order with everything but arithmetic on other registers */
    CONTROL,      /* ends a block */
    PINNED        /* nothing moves across */
} family;

typedef struct opcode_row {
    const char *prefix; /* whole dotted parts; the longest match wins */
    uint8_t family;
    uint8_t destination;
    const char *reason;
} opcode_row;

#define PURE_ROW(name)                     \
    {                                      \
        name, PURE, PTX_WRITES_FIRST, NULL \
    }

/* PTX ISA 9.0, chapter 9.7; one group of rows a section. */
static const opcode_row rows[] = {
    /* Integer Arithmetic; Extended-Precision Integer Arithmetic */
    PURE_ROW("add"),
    PURE_ROW("sub"),
    PURE_ROW("mul"),
    PURE_ROW("mad"),
    PURE_ROW("mul24"),
    PURE_ROW("mad24"),
    PURE_ROW("sad"),
    PURE_ROW("div"),
    PURE_ROW("rem"),
    PURE_ROW("abs"),
    PURE_ROW("neg"),
    PURE_ROW("min"),
    PURE_ROW("max"),
    PURE_ROW("popc"),
    PURE_ROW("clz"),
    PURE_ROW("bfind"),
    PURE_ROW("fns"),
    PURE_ROW("brev"),
    PURE_ROW("bfe"),
    PURE_ROW("bfi"),
    PURE_ROW("szext"),
    PURE_ROW("bmsk"),
    PURE_ROW("dp4a"),
    PURE_ROW("dp2a"),
    PURE_ROW("addc"),
    PURE_ROW("subc"),
    PURE_ROW("madc"),
    /* Floating-Point; Half Precision; Mixed Precision */
    PURE_ROW("testp"),
    PURE_ROW("copysign"),
    PURE_ROW("fma"),
    PURE_ROW("rcp"),
    PURE_ROW("sqrt"),
    PURE_ROW("rsqrt"),
    PURE_ROW("sin"),
    PURE_ROW("cos"),
    PURE_ROW("lg2"),
    PURE_ROW("ex2"),
    PURE_ROW("tanh"),
    /* Comparison and Selection; Logic and Shift */
    PURE_ROW("set"),
    PURE_ROW("setp"),
    PURE_ROW("selp"),
    PURE_ROW("slct"),
    PURE_ROW("and"),
    PURE_ROW("or"),
    PURE_ROW("xor"),
    PURE_ROW("not"),
    PURE_ROW("cnot"),
    PURE_ROW("lop3"),
    PURE_ROW("shf"),
    PURE_ROW("shl"),
    PURE_ROW("shr"),
    /* Data Movement and Conversion */
    PURE_ROW("mov"),
    PURE_ROW("prmt"),
    PURE_ROW("cvt"),
    PURE_ROW("cvta"),
    PURE_ROW("isspacep"),
    PURE_ROW("mapa"),
    PURE_ROW("getctarank"),
    PURE_ROW("createpolicy"),
    {"shfl", WARP, PTX_WRITES_FIRST, "warp exchange"},
    {"ld", LOAD, PTX_WRITES_FIRST, "load"},
    {"ldu", LOAD, PTX_WRITES_FIRST, "load"},
    {"st", STORE, PTX_WRITES_NOTHING, "store"},
    {"st.async", ORDERED, PTX_WRITES_NOTHING, "asynchronous store"},
    {"st.bulk", ORDERED, PTX_WRITES_NOTHING, "asynchronous store"},
    {"multimem", ORDERED, PTX_UPDATES_FIRST, "multimem"},
    {"prefetch", HINT, PTX_WRITES_NOTHING, "prefetch"},
    {"prefetchu", HINT, PTX_WRITES_NOTHING, "prefetch"},
    {"applypriority", ORDERED, PTX_WRITES_NOTHING, "cache control"},
    {"discard", ORDERED, PTX_WRITES_NOTHING, "cache control"},
    {"cp.async", COPY, PTX_WRITES_NOTHING, "asynchronous copy"},
    {"cp.async.commit_group", COPY_GROUP, PTX_WRITES_NOTHING, "asynchronous group"},
    {"cp.async.wait_group", ORDERED, PTX_WRITES_NOTHING, "asynchronous wait"},
    {"cp.async.wait_all", ORDERED, PTX_WRITES_NOTHING, "asynchronous wait"},
    {"cp.async.mbarrier", ORDERED, PTX_WRITES_NOTHING, "mbarrier"},
    {"cp.async.bulk", ORDERED, PTX_WRITES_NOTHING, "bulk copy"},
    {"cp.reduce", ORDERED, PTX_WRITES_NOTHING, "bulk copy"},
    {"tensormap", ORDERED, PTX_WRITES_NOTHING, "tensormap"},
    /* Texture; Surface */
    {"tex", TEXTURE, PTX_WRITES_FIRST, "texture"},
    {"tld4", TEXTURE, PTX_WRITES_FIRST, "texture"},
    {"txq", PURE, PTX_WRITES_FIRST, NULL},
    {"suq", PURE, PTX_WRITES_FIRST, NULL},
    {"suld", ORDERED, PTX_WRITES_FIRST, "surface"},
    {"sust", ORDERED, PTX_WRITES_NOTHING, "surface"},
    {"sured", ORDERED, PTX_WRITES_NOTHING, "surface"},
    /* Control Flow */
    {"bra", CONTROL, PTX_WRITES_NOTHING, "control flow"},
    {"brx", CONTROL, PTX_WRITES_NOTHING, "control flow"},
    {"ret", CONTROL, PTX_WRITES_NOTHING, "control flow"},
    {"exit", CONTROL, PTX_WRITES_NOTHING, "control flow"},
    {"trap", CONTROL, PTX_WRITES_NOTHING, "control flow"},
    {"call", PINNED, PTX_UPDATES_FIRST, "call"},
    /* Parallel Synchronization and Communication */
    {"bar", ORDERED, PTX_WRITES_NOTHING, "barrier"},
    {"bar.red", ORDERED, PTX_WRITES_FIRST, "barrier"},
    {"bar.cta.red", ORDERED, PTX_WRITES_FIRST, "barrier"},
    {"barrier", ORDERED, PTX_WRITES_NOTHING, "barrier"},
    {"barrier.red", ORDERED, PTX_WRITES_FIRST, "barrier"},
    {"barrier.cta.red", ORDERED, PTX_WRITES_FIRST, "barrier"},
    {"membar", ORDERED, PTX_WRITES_NOTHING, "fence"},
    {"fence", ORDERED, PTX_WRITES_NOTHING, "fence"},
    {"atom", ORDERED, PTX_WRITES_FIRST, "atomic"},
    {"red", ORDERED, PTX_WRITES_NOTHING, "atomic"},
    {"red.async", ORDERED, PTX_WRITES_NOTHING, "atomic"},
    {"vote", WARP, PTX_WRITES_FIRST, "warp vote"},
    {"match", WARP, PTX_WRITES_FIRST, "warp vote"},
    {"redux", WARP, PTX_WRITES_FIRST, "warp exchange"},
    {"elect", WARP, PTX_WRITES_FIRST, "warp vote"},
    {"activemask", PINNED, PTX_WRITES_FIRST, "active mask"},
    {"griddepcontrol", ORDERED, PTX_WRITES_NOTHING, "grid dependency"},
    {"mbarrier", ORDERED, PTX_UPDATES_FIRST, "mbarrier"},
    {"clusterlaunchcontrol", ORDERED, PTX_UPDATES_FIRST, "cluster launch"},
    /* Warp-Level Matrix */
    {"mma", ALIGNED, PTX_WRITES_FIRST, "warp matrix"},
    {"mma.sp", ALIGNED, PTX_WRITES_FIRST, "warp matrix"},
    {"wmma.mma", ALIGNED, PTX_WRITES_FIRST, "warp matrix"},
    {"wmma.load", ALIGNED_LOAD, PTX_WRITES_FIRST, "warp matrix"},
    {"wmma.store", ALIGNED_STORE, PTX_WRITES_NOTHING, "warp matrix"},
    {"ldmatrix", ALIGNED_LOAD, PTX_WRITES_FIRST, "warp matrix"},
    {"stmatrix", ALIGNED_STORE, PTX_WRITES_NOTHING, "warp matrix"},
    {"movmatrix", ALIGNED, PTX_WRITES_FIRST, "warp matrix"},
    /* Asynchronous Warpgroup Level Matrix */
    {"wgmma.mma_async", MATRIX, PTX_UPDATES_FIRST, "wgmma"},
    {"wgmma.commit_group", MATRIX_GROUP, PTX_WRITES_NOTHING, "wgmma"},
    {"wgmma.fence", MATRIX_ORDER, PTX_WRITES_NOTHING, "wgmma"},
    {"wgmma.wait_group", MATRIX_ORDER, PTX_WRITES_NOTHING, "wgmma"},
    /* TensorCore 5th Generation */
    {"tcgen05", TENSOR, PTX_UPDATES_FIRST, "tcgen05"},
    /* Stack Manipulation; Miscellaneous */
    {"stacksave", PINNED, PTX_WRITES_FIRST, "stack"},
    {"stackrestore", PINNED, PTX_WRITES_NOTHING, "stack"},
    {"alloca", PINNED, PTX_WRITES_FIRST, "stack"},
    {"setmaxnreg", PINNED, PTX_WRITES_NOTHING, "setmaxnreg"},
    {"nanosleep", PINNED, PTX_WRITES_NOTHING, "timing"},
    {"pmevent", PINNED, PTX_WRITES_NOTHING, "timing"},
    {"brkpt", PINNED, PTX_WRITES_NOTHING, "breakpoint"},
    /* Video: scalar and SIMD */
    PURE_ROW("vadd"),
    PURE_ROW("vsub"),
    PURE_ROW("vabsdiff"),
    PURE_ROW("vmin"),
    PURE_ROW("vmax"),
    PURE_ROW("vshl"),
    PURE_ROW("vshr"),
    PURE_ROW("vmad"),
    PURE_ROW("vset"),
    PURE_ROW("vadd2"),
    PURE_ROW("vsub2"),
    PURE_ROW("vavrg2"),
    PURE_ROW("vabsdiff2"),
    PURE_ROW("vmin2"),
    PURE_ROW("vmax2"),
    PURE_ROW("vset2"),
    PURE_ROW("vadd4"),
    PURE_ROW("vsub4"),
    PURE_ROW("vavrg4"),
    PURE_ROW("vabsdiff4"),
    PURE_ROW("vmin4"),
    PURE_ROW("vmax4"),
    PURE_ROW("vset4"),
};

bool ptx_opcode_has(const char *opcode, const char *modifier)
{
    size_t length = strlen(modifier);
    for (const char *p = strstr(opcode, modifier); p != NULL; p = strstr(p + 1, modifier)) {
        if (p[length] == '\0' || p[length] == '.') {
            return true;
        }
    }
    return false;
}

static bool has_any(const char *opcode, const char *const *modifiers)
{
    for (; *modifiers != NULL; modifiers++) {
        if (ptx_opcode_has(opcode, *modifiers)) {
            return true;
        }
    }
    return false;
}

static const opcode_row *find_row(const char *opcode)
{
    const opcode_row *best = NULL;
    size_t best_length = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (*rows[i].prefix != *opcode) {
            continue;
        }
        size_t length = strlen(rows[i].prefix);
        if (length > best_length && strncmp(opcode, rows[i].prefix, length) == 0 &&
            (opcode[length] == '\0' || opcode[length] == '.')) {
            best = &rows[i];
            best_length = length;
        }
    }
    return best;
}

/* Sets the access to the memory an opcode names; generic addresses reach all of it. */
static void touch_memory(ptx_effect *effect, const char *opcode, ptx_access access)
{
    static const struct {
        const char *modifier;
        ptx_resource resource;
    } spaces[] = {{".global", PTX_GLOBAL},      {".shared", PTX_SHARED},
                  {".shared::cta", PTX_SHARED}, {".shared::cluster", PTX_SHARED},
                  {".local", PTX_LOCAL},        {".param", PTX_PARAM},
                  {".param::func", PTX_PARAM}};
    if (has_any(opcode, (const char *const[]){".const", ".param::entry", NULL})) {
        return;
    }
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        if (ptx_opcode_has(opcode, spaces[i].modifier)) {
            effect->access[spaces[i].resource] = (uint8_t)access;
            return;
        }
    }
    effect->access[PTX_GLOBAL] = (uint8_t)access;
    effect->access[PTX_SHARED] = (uint8_t)access;
    effect->access[PTX_LOCAL] = (uint8_t)access;
    effect->access[PTX_PARAM] = (uint8_t)access;
}

/* In order with everything that is not plain arithmetic. */
static void order_all(ptx_effect *effect)
{
    for (int i = 0; i < PTX_RESOURCE_COUNT; i++) {
        if (i != PTX_CARRY && i != PTX_IN_FLIGHT && i != PTX_PLACE && i != PTX_ROUNDING) {
            effect->access[i] = PTX_ACCESS_WRITE;
        }
    }
}

static bool is_strong(const char *opcode)
{
    return has_any(opcode, (const char *const[]){".volatile", ".relaxed", ".acquire", ".release",
                                                 ".mmio", ".acq_rel", ".sc", ".cv", ".wt", NULL});
}

static void describe_memory(ptx_effect *effect, const char *opcode, uint8_t kind)
{
    if (is_strong(opcode)) {
        order_all(effect);
        effect->reason = "volatile";
        return;
    }
    if (kind == LOAD && ptx_opcode_has(opcode, ".nc")) {
        effect->access[PTX_READ_ONLY] = PTX_ACCESS_READ;
        return;
    }
    touch_memory(effect, opcode, kind == STORE ? PTX_ACCESS_WRITE : PTX_ACCESS_READ);
}

static void describe_pure(ptx_effect *effect, const char *opcode)
{
    effect->pure = true;
    bool sets = ptx_opcode_has(opcode, ".cc");
    bool uses = strncmp(opcode, "addc", 4) == 0 || strncmp(opcode, "subc", 4) == 0 ||
                strncmp(opcode, "madc", 4) == 0;
    if (sets || uses) {
        effect->access[PTX_CARRY] = sets ? PTX_ACCESS_WRITE : PTX_ACCESS_READ;
        effect->pure = false;
        effect->reason = "carry";
    }
}

static void describe_aligned(ptx_effect *effect, const char *opcode, uint8_t kind)
{
    effect->access[PTX_CONVERGENCE] = PTX_ACCESS_READ;
    if (kind == ALIGNED_LOAD) {
        touch_memory(effect, opcode, PTX_ACCESS_READ);
    } else if (kind == ALIGNED_STORE) {
        touch_memory(effect, opcode, PTX_ACCESS_WRITE);
    }
}

static void describe_copy(ptx_effect *effect)
{
    effect->access[PTX_GLOBAL] = PTX_ACCESS_READ;
    effect->access[PTX_SHARED] = PTX_ACCESS_ASYNC;
    effect->access[PTX_COPIES] = PTX_ACCESS_READ;
}

static void describe_matrix(ptx_effect *effect, uint8_t kind)
{
    effect->access[PTX_MATRIX] = PTX_ACCESS_WRITE;
    effect->access[PTX_CONVERGENCE] = PTX_ACCESS_WRITE;
    if (kind == MATRIX) {
        effect->in_flight = true;
        effect->access[PTX_SHARED] = PTX_ACCESS_READ;
    } else if (kind == MATRIX_ORDER) {
        order_all(effect);
        effect->access[PTX_IN_FLIGHT] = PTX_ACCESS_WRITE;
    }
}

static void describe(ptx_effect *effect, const char *opcode, uint8_t kind)
{
    switch ((family)kind) {
    case PURE:
        describe_pure(effect, opcode);
        break;
    case LOAD:
    case STORE:
    case HINT:
        describe_memory(effect, opcode, kind);
        break;
    case TEXTURE:
        effect->access[PTX_READ_ONLY] = PTX_ACCESS_READ;
        break;
    case COPY:
        describe_copy(effect);
        break;
    case COPY_GROUP:
        effect->access[PTX_COPIES] = PTX_ACCESS_WRITE;
        break;
    case ORDERED:
        order_all(effect);
        break;
    case WARP:
        effect->access[PTX_CONVERGENCE] = PTX_ACCESS_WRITE;
        break;
    case ALIGNED:
    case ALIGNED_LOAD:
    case ALIGNED_STORE:
        describe_aligned(effect, opcode, kind);
        break;
    case MATRIX:
    case MATRIX_GROUP:
    case MATRIX_ORDER:
        describe_matrix(effect, kind);
        break;
    case TENSOR:
        order_all(effect);
        effect->access[PTX_IN_FLIGHT] = PTX_ACCESS_WRITE;
        effect->in_flight = true;
        break;
    case CONTROL:
        effect->barrier = true;
        effect->terminator = true;
        break;
    case PINNED:
        effect->barrier = true;
        break;
    }
}

ptx_effect ptx_effect_lookup(const char *opcode)
{
    const opcode_row *row = find_row(opcode);
    if (row == NULL) {
        return (ptx_effect){
            .barrier = true, .destination = PTX_UPDATES_ALL, .reason = "unknown opcode"};
    }
    ptx_effect effect = {.destination = row->destination, .reason = row->reason};
    describe(&effect, opcode, row->family);
    return effect;
}

bool ptx_special_is_constant(const char *name, size_t length)
{
    /* PTX ISA 9.0, chapter 10. Absent on purpose: %warpid, %smid ("may change during execution"),
       %clock*, %globaltimer*, %pm*, %gridid's kin of the launch are constant. */
    static const char *const names[] = {"%tid",
                                        "%ntid",
                                        "%laneid",
                                        "%nwarpid",
                                        "%ctaid",
                                        "%nctaid",
                                        "%gridid",
                                        "%lanemask_eq",
                                        "%lanemask_le",
                                        "%lanemask_lt",
                                        "%lanemask_ge",
                                        "%lanemask_gt",
                                        "%clusterid",
                                        "%nclusterid",
                                        "%cluster_ctaid",
                                        "%cluster_nctaid",
                                        "%cluster_ctarank",
                                        "%cluster_nctarank",
                                        "%is_explicit_cluster",
                                        "%total_smem_size",
                                        "%aggr_smem_size",
                                        "%dynamic_smem_size",
                                        "%nsmid",
                                        "%reserved_smem_offset_begin",
                                        "%reserved_smem_offset_end",
                                        "%reserved_smem_offset_cap",
                                        "%current_graph_exec"};
    const char *dot = memchr(name, '.', length);
    size_t base = dot == NULL ? length : (size_t)(dot - name);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == base && memcmp(names[i], name, base) == 0) {
            return true;
        }
    }
    return strncmp(name, "%envreg", base < 7 ? base : 7) == 0 && base > 7;
}
