/* The rules of docs/ptx-safety.md, one pair of instructions each. */
#include "helpers.h"

#include "ptx/dependences.h"

/* True when the graph forces the second of two instructions behind the first. `rest` are statements
   after them in the same entry (another block), which may say more about their registers. */
static bool is_forced_with(const char *a, const char *b, const char *rest)
{
    evocc_error error;
    strbuf body = {0};
    strbuf_printf(&body, "\t%s\n\t%s\n\tbra NEXT;\nNEXT:\n\t%s\n", a, b, rest);
    char *text = kernel_of(strbuf_text(&body));
    ptx_module *module = module_of(text);
    const ptx_function *f = &module->functions[0];
    ptx_graph *graph;
    assert_int_equal(ptx_graph_new(&graph, module, f, &error), EVOCC_OK);
    ptx_graph_clear(graph);
    bool barrier = false;
    uint32_t at = module->blocks[f->first_block].first;
    uint32_t end = at + module->blocks[f->first_block].count;
    while (module->statements[at].kind == PTX_DECLARATION) {
        at++;
    }
    for (int i = 0; i < 2; i++) {
        ptx_item item = ptx_graph_item(graph, at, end);
        barrier = barrier || item.barrier;
        assert_true(ptx_graph_add(graph, &item));
        at += item.count;
    }
    assert_true(ptx_graph_build(graph));
    uint32_t count;
    ptx_graph_successors(graph, 0, &count);
    ptx_graph_free(graph);
    ptx_free(module);
    mem_free(text);
    strbuf_dispose(&body);
    return barrier || count > 0;
}

typedef struct pair {
    const char *first, *second;
} pair;

static void assert_forced(const pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_forced_with(pairs[i].first, pairs[i].second, "")) {
            fail_msg("may swap, but must not: %s  %s", pairs[i].first, pairs[i].second);
        }
    }
}

static void assert_free(const pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_forced_with(pairs[i].first, pairs[i].second, "")) {
            fail_msg("should be free to swap: %s  %s", pairs[i].first, pairs[i].second);
        }
    }
}

#define FORCED(...)                                      \
    do {                                                 \
        static const pair list[] = {__VA_ARGS__};        \
        assert_forced(list, sizeof list / sizeof *list); \
    } while (0)
#define FREE(...)                                      \
    do {                                               \
        static const pair list[] = {__VA_ARGS__};      \
        assert_free(list, sizeof list / sizeof *list); \
    } while (0)

static void test_registers(void **state)
{
    (void)state;
    FORCED(
        {"add.s32 %r1, %r2, %r3;", "add.s32 %r4, %r1, 1;"}, /* read after write */
        {"add.s32 %r4, %r1, 1;", "add.s32 %r1, %r2, %r3;"}, /* write after read */
        {"add.s32 %r1, %r4, 1;", "add.s32 %r1, %r2, %r3;"}, /* write after write */
        {"setp.eq.s32 %p1, %r1, 0;", "@%p1 add.s32 %r2, %r3, 1;"},
        {"setp.eq.s32 %p1, %r1, 0;", "@!%p1 st.global.b32 [%rd1], %r2;"},
        {"@%p1 add.s32 %r2, %r3, 1;", "setp.eq.s32 %p1, %r1, 0;"},
        {"setp.eq.s32 %p1|%p2, %r1, 0;", "@%p2 mov.b32 %r2, 1;"},
        {"@%p1 mov.b32 %r1, 1;", "@!%p1 mov.b32 %r1, 2;"}, /* a guarded write reads the old value */
        {"mov.b64 {%r1, %r2}, %rd1;", "mov.b32 %r3, %r2;"},
        {"mov.b64 %rd1, {%r1, %r2};", "mov.b32 %r2, 0;"},
        {"ld.global.v2.b32 {%r1, %r2}, [%rd1];", "add.s32 %r3, %r2, 1;"},
        {"add.s64 %rd1, %rd2, 1;", "ld.global.b32 %r1, [%rd1+4];"},
        {"add.s64 %rd1, %rd2, 1;", "st.global.b32 [%rd1], %r1;"},
        {"st.global.b32 [%rd1], %r1;", "mov.b32 %r1, 0;"},
        {"selp.b32 %r1, %r2, %r3, %p1;", "mov.pred %p1, 0;"},
        {"setp.lt.and.s32 %p1, %r1, %r2, !%p2;", "mov.pred %p2, 0;"},
        {"shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;", "@%p1 mov.b32 %r3, 1;"});
    FREE({"add.s32 %r1, %r2, %r3;", "add.s32 %r4, %r5, 1;"},
         {"add.s32 %r1, %r2, %r3;", "add.s32 %r4, %r2, %r3;"},
         {"@%p1 mov.b32 %r1, 1;", "@%p1 mov.b32 %r2, 2;"},
         {"mov.u32 %r1, %tid.x;", "mov.u32 %r2, %ctaid.x;"},
         {"div.s32 %r1, %r2, %r3;", "ex2.approx.ftz.f32 %f1, %f2;"},
         {"mov.u64 %rd1, g;", "cvta.global.u64 %rd2, %rd3;"});
}

static void test_carry(void **state)
{
    (void)state;
    FORCED({"add.cc.u32 %r1, %r2, %r3;", "addc.u32 %r4, %r5, %r6;"},
           {"addc.cc.u32 %r1, %r2, %r3;", "addc.u32 %r4, %r5, %r6;"},
           {"addc.u32 %r1, %r2, %r3;", "add.cc.u32 %r4, %r5, %r6;"},
           {"sub.cc.u32 %r1, %r2, %r3;", "mad.lo.cc.u32 %r4, %r5, %r6, %r7;"});
    FREE({"add.cc.u32 %r1, %r2, %r3;", "add.u32 %r4, %r5, %r6;"},
         {"addc.u32 %r1, %r2, %r3;", "subc.u32 %r4, %r5, %r6;"});
}

static void test_memory(void **state)
{
    (void)state;
    FORCED({"st.global.b32 [%rd1], %r1;", "ld.global.b32 %r2, [%rd2];"},
           {"ld.global.b32 %r2, [%rd2];", "st.global.b32 [%rd1], %r1;"},
           {"st.global.b32 [%rd1], %r1;", "st.global.b32 [%rd2], %r2;"},
           {"st.shared.b32 [%r1], %r2;", "ld.shared::cta.b32 %r3, [%r4];"},
           {"st.shared::cluster.b32 [%r1], %r2;", "ld.shared.b32 %r3, [%r4];"},
           {"st.b32 [%rd1], %r1;", "ld.global.b32 %r2, [%rd2];"}, /* generic */
           {"st.b32 [%rd1], %r1;", "ld.shared.b32 %r2, [%r3];"},
           {"st.b32 [%rd1], %r1;", "ld.local.b32 %r2, [%r3];"},
           {"st.local.b32 [%r1], %r2;", "ld.b32 %r3, [%rd3];"},
           {"atom.global.add.u32 %r1, [%rd1], %r2;", "ld.global.b32 %r3, [%rd2];"},
           {"red.global.add.u32 [%rd1], %r2;", "ld.shared.b32 %r3, [%r4];"},
           {"st.global.b32 [%rd1], %r1;", "prefetch.global.L2 [%rd2];"},
           {"discard.global.L2 [%rd1], 128;", "ld.global.b32 %r1, [%rd2];"});
    FREE({"ld.global.b32 %r1, [%rd1];", "ld.global.b32 %r2, [%rd2];"},
         {"ld.b32 %r1, [%rd1];", "ld.shared.b32 %r2, [%r3];"},
         {"st.shared.b32 [%r1], %r2;", "ld.global.b32 %r3, [%rd4];"},
         {"st.shared.b32 [%r1], %r2;", "st.global.b32 [%rd3], %r4;"},
         {"st.local.b32 [%r1], %r2;", "ld.global.b32 %r3, [%rd4];"},
         {"st.b32 [%rd1], %r1;", "ld.const.b32 %r2, [c];"},
         {"st.b32 [%rd1], %r1;", "add.s32 %r2, %r3, 1;"},
         {"st.global.b32 [%rd1], %r1;", "ld.param.u32 %r2, [n];"},
         {"st.global.b32 [%rd1], %r1;", "ld.global.nc.b32 %r2, [%rd2];"});
}

static void test_strong(void **state)
{
    (void)state;
    FORCED({"ld.volatile.global.b32 %r1, [%rd1];", "ld.volatile.shared.b32 %r2, [%r3];"},
           {"ld.volatile.global.b32 %r1, [%rd1];", "ld.global.b32 %r2, [%rd2];"},
           {"ld.relaxed.gpu.global.b32 %r1, [%rd1];", "ld.relaxed.gpu.global.b32 %r2, [%rd2];"},
           {"ld.acquire.gpu.global.b32 %r1, [%rd1];", "ld.global.b32 %r2, [%rd2];"},
           {"st.shared.b32 [%r1], %r2;", "st.release.gpu.global.b32 [%rd1], %r3;"},
           {"ld.acquire.gpu.global.b32 %r1, [%rd1];", "ld.global.nc.b32 %r2, [%rd2];"});
    FREE({"ld.volatile.global.b32 %r1, [%rd1];", "add.s32 %r2, %r3, 1;"},
         {"st.release.gpu.global.b32 [%rd1], %r3;", "mul.f32 %f1, %f2, %f3;"});
}

static void test_barriers(void **state)
{
    (void)state;
    FORCED({"bar.sync 0;", "ld.shared.b32 %r1, [%r2];"},
           {"ld.global.b32 %r1, [%rd2];", "bar.sync 0;"}, {"bar.sync 0;", "bar.sync 1;"},
           {"bar.sync 0;", "ld.global.nc.b32 %r1, [%rd2];"},
           {"bar.sync 0;", "shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;"},
           {"bar.warp.sync -1;", "ld.shared.b32 %r1, [%r2];"},
           {"barrier.cluster.arrive.aligned;", "st.shared.b32 [%r1], %r2;"},
           {"membar.gl;", "st.global.b32 [%rd1], %r2;"},
           {"st.global.b32 [%rd1], %r2;", "fence.acq_rel.gpu;"},
           {"fence.proxy.async;", "st.shared.b32 [%r1], %r2;"},
           {"griddepcontrol.wait;", "ld.global.nc.b32 %r1, [%rd2];"},
           {"mbarrier.init.shared.b64 [%r1], 1;", "st.shared.b32 [%r2], %r3;"},
           {"mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r2;", "ld.shared.b32 %r3, [%r4];"},
           {"mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r2;", "@%p1 mov.b32 %r3, 1;"},
           {"setmaxnreg.inc.sync.aligned.u32 240;", "add.s32 %r1, %r2, 1;"},
           {"nanosleep.u32 20;", "add.s32 %r1, %r2, 1;"},
           {"frobnicate.sync %r1, %r2;", "add.s32 %r3, %r4, 1;"}, /* unknown */
           {"mov.u32 %r1, %clock;", "add.s32 %r3, %r4, 1;"},
           {"mov.u64 %rd1, %globaltimer;", "add.s32 %r3, %r4, 1;"},
           {"mov.u32 %r1, %smid;", "add.s32 %r3, %r4, 1;"},
           {"activemask.b32 %r1;", "add.s32 %r3, %r4, 1;"},
           {".pragma \"nounroll\";", "add.s32 %r3, %r4, 1;"},
           {".reg .b32 %t;", "add.s32 %r3, %r4, 1;"});
    FREE({"bar.sync 0;", "add.s32 %r1, %r2, 1;"}, {"membar.gl;", "fma.rn.f32 %f1, %f2, %f3, %f4;"},
         {"mbarrier.init.shared.b64 [%r1], 1;", "shl.b32 %r2, %r3, 1;"},
         {"bar.sync 0;", "ld.const.b32 %r1, [c];"});
}

static void test_convergence(void **state)
{
    (void)state;
    FORCED({"shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;", "shfl.sync.bfly.b32 %r3, %r4, 1, 31, -1;"},
           {"vote.sync.any.pred %p1, %p2, -1;", "shfl.sync.idx.b32 %r3, %r4, 1, 31, -1;"},
           {"match.any.sync.b32 %r1, %r2, -1;", "redux.sync.add.s32 %r3, %r4, -1;"},
           {"elect.sync %r1|%p1, -1;", "bar.warp.sync -1;"},
           {"shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;",
            "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r4];"},
           {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r4];", "st.shared.b32 [%r5], %r6;"},
           {"bar.sync 0;", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, "
                           "{%r1,%r2}, {%r3}, {%f5,%f6,%f7,%f8};"});
    FREE({"shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;", "add.s32 %r3, %r4, 1;"},
         {"shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;", "ld.global.b32 %r3, [%rd4];"},
         {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r4];",
          "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r6];"});
}

static void test_asynchronous(void **state)
{
    (void)state;
    FORCED({"cp.async.cg.shared.global [%r1], [%rd1], 16;", "cp.async.commit_group;"},
           {"cp.async.commit_group;", "cp.async.cg.shared.global [%r1], [%rd1], 16;"},
           {"cp.async.commit_group;", "cp.async.commit_group;"},
           {"cp.async.wait_group 0;", "ld.shared.b32 %r1, [%r2];"},
           {"cp.async.cg.shared.global [%r1], [%rd1], 16;", "ld.shared.b32 %r1, [%r2];"},
           {"ld.shared.b32 %r1, [%r2];", "cp.async.cg.shared.global [%r3], [%rd1], 16;"},
           {"cp.async.cg.shared.global [%r1], [%rd1], 16;", "st.shared.b32 [%r1], %r2;"},
           {"st.global.b32 [%rd2], %r2;", "cp.async.cg.shared.global [%r1], [%rd1], 16;"},
           {"cp.async.bulk.commit_group;", "st.shared.b32 [%r1], %r2;"},
           {"st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r1], %r2, [%r3];",
            "ld.shared.b32 %r4, [%r5];"});
    FREE({"cp.async.cg.shared.global [%r1], [%rd1], 16;",
          "cp.async.cg.shared.global [%r2], [%rd2], 16;"},
         {"cp.async.cg.shared.global [%r1], [%rd1], 16;", "ld.global.b32 %r2, [%rd2];"},
         {"cp.async.commit_group;", "ld.shared.b32 %r1, [%r2];"},
         {"cp.async.wait_group 0;", "add.s32 %r1, %r2, 1;"});
}

#define MMA                                                                                      \
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, 1, 1, 1, " \
    "0, 0;"

static void test_wgmma(void **state)
{
    (void)state;
    FORCED({"wgmma.fence.sync.aligned;", MMA}, {MMA, "wgmma.commit_group.sync.aligned;"},
           {MMA, MMA}, {"wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"},
           {MMA, "mul.f32 %f9, %f1, %f10;"}, {"mov.b32 %f1, 0f00000000;", MMA},
           {MMA, "st.shared.b32 [%r1], %r2;"},
           {"wgmma.wait_group.sync.aligned 0;", "st.shared.b32 [%r1], %r2;"});
    FREE({MMA, "mul.f32 %f9, %f10, %f11;"}, {MMA, "ld.global.b32 %r1, [%rd3];"},
         {"wgmma.wait_group.sync.aligned 0;", "mul.f32 %f9, %f10, %f11;"},
         {"wgmma.fence.sync.aligned;", "add.s32 %r1, %r2, 1;"});
    /* Registers that a wgmma elsewhere in the function names are in flight until the wait. */
    assert_true(is_forced_with("wgmma.wait_group.sync.aligned 0;", "mul.f32 %f9, %f1, %f10;", MMA));
    assert_true(is_forced_with("mov.b32 %f1, 0f00000000;", "wgmma.fence.sync.aligned;", MMA));
    assert_false(
        is_forced_with("wgmma.wait_group.sync.aligned 0;", "mul.f32 %f9, %f8, %f10;", MMA));
    assert_true(is_forced_with("tcgen05.wait::ld.sync.aligned;", "add.s32 %r1, %r2, 1;",
                               "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r3];"));
}

static void test_scopes(void **state)
{
    (void)state;
    FORCED({"{ .reg .b32 t; add.s32 t, %r1, 1; mov.b32 %r2, t; }", "add.s32 %r3, %r2, 1;"},
           {"{ st.global.b32 [%rd1], %r1; }", "ld.global.b32 %r2, [%rd2];"},
           {"{ call foo; }", "add.s32 %r3, %r2, 1;"});
    FREE({"{ .reg .b32 t; add.s32 t, %r1, 1; mov.b32 %r2, t; }", "add.s32 %r3, %r4, 1;"},
         {"{ .reg .b32 t; mov.b32 t, %r1; }", "{ .reg .b32 t; mov.b32 t, %r2; }"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registers),    cmocka_unit_test(test_carry),
        cmocka_unit_test(test_memory),       cmocka_unit_test(test_strong),
        cmocka_unit_test(test_barriers),     cmocka_unit_test(test_convergence),
        cmocka_unit_test(test_asynchronous), cmocka_unit_test(test_wgmma),
        cmocka_unit_test(test_scopes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
