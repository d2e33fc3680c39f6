/* The checker: accepts what is equal, and catches every planted bug. */
#include "helpers.h"

#include "ptx/checker.h"
#include "util/rng.h"

#include <stdio.h>

static evocc_status check_texts(const char *a, const char *b, evocc_error *error)
{
    ptx_module *first = module_of(a), *second = module_of(b);
    evocc_status status = ptx_check(first, second, error);
    ptx_free(first);
    ptx_free(second);
    return status;
}

static evocc_status check_bodies(const char *a, const char *b, evocc_error *error)
{
    char *first = kernel_of(a), *second = kernel_of(b);
    evocc_status status = check_texts(first, second, error);
    mem_free(first);
    mem_free(second);
    return status;
}

static void assert_same(const char *a, const char *b)
{
    evocc_error error;
    if (check_bodies(a, b, &error) != EVOCC_OK) {
        fail_msg("%s\n%s\n%s", error.message, a, b);
    }
}

static void assert_other(const char *a, const char *b)
{
    evocc_error error;
    if (check_bodies(a, b, &error) != EVOCC_MISMATCH) {
        fail_msg("not caught:\n%s\n%s", a, b);
    }
}

/* Both bodies with the result of %r1 stored. */
static void assert_result(const char *a, const char *b, bool same)
{
    char first[512], second[512];
    snprintf(first, sizeof first, "%s st.global.b32 [g], %%r1; st.global.b64 [g+8], %%rd1;", a);
    snprintf(second, sizeof second, "%s st.global.b32 [g], %%r1; st.global.b64 [g+8], %%rd1;", b);
    (same ? assert_same : assert_other)(first, second);
}

static void test_arithmetic(void **state)
{
    (void)state;
    static const char *const equal[][2] = {
        {"add.s32 %r1, %r2, %r3;", "add.s32 %r1, %r3, %r2;"},
        {"mul.lo.s32 %r9, %r2, %r3; add.s32 %r1, %r9, %r4;", "mad.lo.s32 %r1, %r2, %r3, %r4;"},
        {"mul.wide.s32 %rd9, %r2, %r3; add.s64 %rd1, %rd9, %rd4;",
         "mad.wide.s32 %rd1, %r2, %r3, %rd4;"},
        {"mul.lo.s32 %r1, %r2, 8;", "shl.b32 %r1, %r2, 3;"},
        {"mul.wide.s32 %rd1, %r2, 4;", "cvt.s64.s32 %rd9, %r2; shl.b64 %rd1, %rd9, 2;"},
        {"mul.wide.u32 %rd1, %r2, 4;", "cvt.u64.u32 %rd9, %r2; shl.b64 %rd1, %rd9, 2;"},
        {"add.s32 %r9, %r2, %r3; add.s32 %r1, %r9, %r4;",
         "add.s32 %r9, %r3, %r4; add.s32 %r1, %r2, %r9;"},
        {"bfe.u32 %r1, %r2, 5, 3;", "shr.u32 %r9, %r2, 5; and.b32 %r1, %r9, 7;"},
        {"and.b32 %r9, %r2, %r3; or.b32 %r1, %r9, %r4;", "lop3.b32 %r1, %r2, %r3, %r4, 0xEA;"},
        {"xor.b32 %r9, %r2, %r3; xor.b32 %r1, %r9, %r4;", "lop3.b32 %r1, %r2, %r3, %r4, 0x96;"},
        {"sub.s32 %r1, %r2, %r3;", "neg.s32 %r9, %r3; add.s32 %r1, %r2, %r9;"},
        {"mov.b64 {%r8, %r1}, %rd2;", "shr.u64 %rd9, %rd2, 32; cvt.u32.u64 %r1, %rd9;"},
        {"setp.eq.s32 %p1, %r2, 0; selp.b32 %r1, %r3, %r4, %p1;",
         "setp.eq.s32 %p1, %r2, 0; not.pred %p2, %p1; selp.b32 %r1, %r4, %r3, %p2;"},
        {"setp.eq.s32 %p1, %r2, 0; selp.b32 %r1, %r3, %r4, %p1;",
         "setp.eq.s32 %p1, %r2, 0; mov.b32 %r1, %r4; @%p1 mov.b32 %r1, %r3;"},
        {"setp.eq.s32 %p1|%p2, %r2, 0; selp.b32 %r1, %r3, %r4, %p1;",
         "setp.eq.s32 %p1|%p2, %r2, 0; selp.b32 %r1, %r4, %r3, %p2;"},
        {"add.f32 %f1, %f2, %f3; mov.b32 %r1, %f1;", "add.f32 %f1, %f3, %f2; mov.b32 %r1, %f1;"},
        {"fma.rn.f32 %f1, %f2, %f3, %f4; mov.b32 %r1, %f1;",
         "fma.rn.f32 %f1, %f3, %f2, %f4; mov.b32 %r1, %f1;"},
        {"ld.global.ca.b32 %r1, [%rd3+4];", "ld.global.L1::evict_last.b32 %r1, [%rd3+4];"},
        {"ld.global.b32 %r1, [%rd3];", "createpolicy.fractional.L2::evict_first.b64 %rd9, 1.0; "
                                       "ld.global.L2::cache_hint.b32 %r1, [%rd3], %rd9;"},
        {"add.s64 %rd3, %rd2, 4; ld.global.b32 %r1, [%rd3];", "ld.global.b32 %r1, [%rd2+4];"},
        {"ld.global.v2.b32 {%r9, %r1}, [%rd2];",
         "ld.global.b32 %r9, [%rd2]; ld.global.b32 %r1, [%rd2+4];"},
        {"st.shared.v2.b32 [s], {%r3, %r4};", "st.shared.b32 [s], %r3; st.shared.b32 [s+4], %r4;"},
    };
    static const char *const unequal[][2] = {
        {"sub.s32 %r1, %r2, %r3;", "sub.s32 %r1, %r3, %r2;"},
        {"mul.wide.s32 %rd1, %r2, 4;", "mul.wide.u32 %rd1, %r2, 4;"},
        {"mul.wide.u32 %rd1, %r2, 4;", "shl.b32 %r9, %r2, 2; cvt.u64.u32 %rd1, %r9;"},
        {"shr.u32 %r1, %r2, 31;", "shr.s32 %r1, %r2, 31;"},
        {"shr.u32 %r1, %r2, 31;", "shr.u32 %r1, %r3, 31;"}, /* one bit */
        {"bfe.u32 %r1, %r2, 5, 3;", "bfe.u32 %r1, %r2, 5, 4;"},
        {"and.b32 %r9, %r2, %r3; or.b32 %r1, %r9, %r4;", "lop3.b32 %r1, %r2, %r3, %r4, 0xE8;"},
        {"add.s32 %r1, %r2, 1;", "add.s32 %r1, %r2, 2;"},
        /* What only rare numbers tell apart. */
        {"add.s32 %r9, %r2, 255; shr.u32 %r1, %r9, 8;",
         "add.s32 %r9, %r2, 256; shr.u32 %r1, %r9, 8;"},
        {"add.s32 %r9, %r2, 1; and.b32 %r1, %r9, 4096;", "and.b32 %r1, %r2, 4096;"},
        {"add.s32 %r9, %r2, 16; bfe.u32 %r1, %r9, 20, 4;", "bfe.u32 %r1, %r2, 20, 4;"},
        {"mov.u32 %r1, %tid.x;", "mov.u32 %r1, %tid.y;"},
        {"add.f32 %f1, %f2, %f3; mov.b32 %r1, %f1;", "sub.f32 %f1, %f2, %f3; mov.b32 %r1, %f1;"},
        /* Not associative. */
        {"add.f32 %f9, %f2, %f3; add.f32 %f1, %f9, %f4; mov.b32 %r1, %f1;",
         "add.f32 %f9, %f3, %f4; add.f32 %f1, %f2, %f9; mov.b32 %r1, %f1;"},
        {"mul.f32 %f9, %f2, %f3; add.f32 %f1, %f9, %f4; mov.b32 %r1, %f1;",
         "fma.rn.f32 %f1, %f2, %f3, %f4; mov.b32 %r1, %f1;"},
        {"selp.b32 %r1, %r3, %r4, %p1;", "selp.b32 %r1, %r4, %r3, %p1;"},
        {"@%p1 mov.b32 %r1, 1;", "@!%p1 mov.b32 %r1, 1;"},
        {"@%p1 mov.b32 %r1, 1;", "mov.b32 %r1, 1;"},
        {"@%p1 mov.b32 %r1, 1;", "@%p2 mov.b32 %r1, 1;"},
        {"ld.global.b32 %r1, [%rd3+4];", "ld.global.b32 %r1, [%rd3+8];"},
        {"ld.global.v2.b32 {%r9, %r1}, [%rd2];",
         "ld.global.b32 %r9, [%rd2]; ld.global.b32 %r1, [%rd2+8];"},
        {"ld.global.v2.b32 {%r9, %r1}, [%rd2];",
         "ld.global.b32 %r1, [%rd2]; ld.global.b32 %r9, [%rd2+4];"},
        {"ld.volatile.global.v2.b32 {%r9, %r1}, [%rd2];", "ld.volatile.global.b32 %r9, [%rd2]; "
                                                          "ld.volatile.global.b32 %r1, [%rd2+4];"},
        {"st.shared.v2.b32 [s], {%r3, %r4};", "st.shared.b32 [s], %r4; st.shared.b32 [s+4], %r3;"},
        {"st.shared.v2.b32 [s], {%r3, %r4};", "st.shared.b32 [s], %r3;"},
        {"ld.global.b32 %r1, [%rd3+4];", "ld.volatile.global.b32 %r1, [%rd3+4];"},
        {"ld.global.v2.b32 {%r1, %r2}, [%rd3];", "ld.global.v2.b32 {%r2, %r1}, [%rd3];"},
    };
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++) {
        assert_result(equal[i][0], equal[i][1], true);
        assert_result(equal[i][1], equal[i][0], true);
    }
    for (size_t i = 0; i < sizeof unequal / sizeof *unequal; i++) {
        assert_result(unequal[i][0], unequal[i][1], false);
        assert_result(unequal[i][1], unequal[i][0], false);
    }
}

static void test_effects(void **state)
{
    (void)state;
    assert_same("st.shared.b32 [s], %r1; st.global.b32 [g], %r2;",
                "st.global.b32 [g], %r2; st.shared.b32 [s], %r1;");
    assert_other("st.global.b32 [g], %r1; st.global.b32 [g], %r2;",
                 "st.global.b32 [g], %r2; st.global.b32 [g], %r1;");
    assert_other("st.global.b32 [g], %r1;", "");
    assert_other("", "st.global.b32 [g], %r1;");
    assert_other("st.global.b32 [g], %r1;", "st.global.b32 [g], %r1; st.global.b32 [g], %r1;");
    assert_other("st.global.b32 [g], %r1;", "st.global.b16 [g], %r1;");
    assert_other("@%p1 st.global.b32 [g], %r1;", "st.global.b32 [g], %r1;");
    assert_other("st.shared.b32 [s], %r1; bar.sync 0;", "bar.sync 0; st.shared.b32 [s], %r1;");
    assert_other("bar.sync 0;", "bar.sync 1;");
    assert_other("ld.shared.b32 %r1, [s]; st.shared.b32 [s], %r2; st.global.b32 [g], %r1;",
                 "st.shared.b32 [s], %r2; ld.shared.b32 %r1, [s]; st.global.b32 [g], %r1;");
    assert_same("cp.async.cg.shared.global [%r1], [%rd1], 16; cp.async.cg.shared.global [%r2], "
                "[%rd2], 16; cp.async.commit_group;",
                "cp.async.cg.shared.global [%r2], [%rd2], 16; cp.async.cg.shared.global [%r1], "
                "[%rd1], 16; cp.async.commit_group;");
    assert_other("cp.async.cg.shared.global [%r1], [%rd1], 16; cp.async.commit_group;",
                 "cp.async.commit_group; cp.async.cg.shared.global [%r1], [%rd1], 16;");
    assert_other("cp.async.cg.shared.global [%r1], [%rd1], 16; ld.shared.b32 %r3, [s];",
                 "ld.shared.b32 %r3, [s]; cp.async.cg.shared.global [%r1], [%rd1], 16;");
    assert_other("mov.u32 %r1, %clock; add.s32 %r2, %r3, 1; mov.u32 %r4, %clock; sub.s32 %r5, %r4, "
                 "%r1; st.global.b32 [g], %r5;",
                 "mov.u32 %r4, %clock; add.s32 %r2, %r3, 1; mov.u32 %r1, %clock; sub.s32 %r5, %r4, "
                 "%r1; st.global.b32 [g], %r5;");
    /* Registers in flight before and behind the wait. */
    assert_other("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, "
                 "1, 1, 1, 0, 0; wgmma.wait_group.sync.aligned 0; mul.f32 %f9, %f1, %f8; "
                 "st.shared.f32 [s], %f9;",
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, "
                 "1, 1, 1, 0, 0; mul.f32 %f9, %f1, %f8; wgmma.wait_group.sync.aligned 0; "
                 "st.shared.f32 [s], %f9;");
}

static void test_blocks(void **state)
{
    (void)state;
    /* A pure slice of single definitions may be computed again anywhere below them. */
    static const char slice[] = "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 3; ld.global.b32 %r9, "
                                "[g]; add.s32 %r3, %r2, %r9; L: ";
    static const char loop[] = " add.s32 %r8, %r8, 1; st.global.b32 [g], %r7; @%p1 bra L;";
    char a[512], b[512];
    snprintf(a, sizeof a, "%sadd.s32 %%r7, %%r3, 1;%s", slice, loop);
    snprintf(b, sizeof b,
             "%smov.u32 %%r20, %%tid.x; shl.b32 %%r21, %%r20, 3; add.s32 %%r22, %%r21, %%r9; "
             "add.s32 %%r7, %%r22, 1;%s",
             slice, loop);
    assert_same(a, b);
    snprintf(b, sizeof b,
             "%smov.u32 %%r20, %%tid.x; shl.b32 %%r21, %%r20, 2; add.s32 %%r22, %%r21, %%r9; "
             "add.s32 %%r7, %%r22, 1;%s",
             slice, loop);
    assert_other(a, b);
    /* Not when an operand changes in between. */
    assert_other("add.s32 %r1, %r8, 1; L: add.s32 %r8, %r8, 1; st.global.b32 [g], %r1; @%p1 bra L;",
                 "add.s32 %r1, %r8, 1; L: add.s32 %r8, %r8, 1; add.s32 %r2, %r8, 1; st.global.b32 "
                 "[g], %r2; @%p1 bra L;");
    /* An expression on one side only: what it is computed from is written twice. */
    assert_same(
        "mov.b32 %r8, 1; L: mad.lo.s32 %r1, %r8, %r9, %r10; shl.b32 %r2, %r1, 2; bar.sync 0; "
        "@%p2 bra M; st.global.b32 [g], %r2; M: add.s32 %r8, %r8, 1; @%p1 bra L;",
        "mov.b32 %r8, 1; L: mul.lo.s32 %r20, %r8, %r9; add.s32 %r1, %r20, %r10; shl.b32 %r2, "
        "%r1, 2; bar.sync 0; @%p2 bra M; st.global.b32 [g], %r2; M: add.s32 %r8, %r8, 1; @%p1 "
        "bra L;");
    /* A load is not repeated. */
    assert_other("ld.global.b32 %r1, [g]; L: st.global.b32 [g], %r1; @%p1 bra L;",
                 "ld.global.b32 %r1, [g]; L: ld.global.b32 %r2, [g]; st.global.b32 [g], %r2; @%p1 "
                 "bra L;");
    /* What a later block reads. */
    assert_other("mov.b32 %r1, 1; @%p1 bra DONE; st.global.b32 [g], %r1;",
                 "mov.b32 %r1, 2; @%p1 bra DONE; st.global.b32 [g], %r1;");
    assert_other("add.s32 %r1, %r1, 1; L: st.global.b32 [g], %r1; @%p1 bra L;",
                 "L: st.global.b32 [g], %r1; @%p1 bra L;");
    assert_same("mov.b32 %r1, 1; @%p1 bra DONE; bar.sync 0;",
                "mov.b32 %r1, 2; @%p1 bra DONE; bar.sync 0;");
    /* Moved down to its only use. */
    assert_same("mov.u32 %r1, %tid.x; add.s32 %r2, %r1, 1; @%p1 bra DONE; st.global.b32 [g], %r2;",
                "mov.u32 %r1, %tid.x; @%p1 bra DONE; add.s32 %r2, %r1, 1; st.global.b32 [g], %r2;");
    /* Moved below a place that reads it: read above there is garbage. */
    assert_other("mov.u32 %r1, %tid.x; L: st.global.b32 [g], %r1; @%p1 bra L;",
                 "bar.sync 0; L: st.global.b32 [g], %r1; mov.u32 %r1, %tid.x; @%p1 bra L;");
    /* Copies of a block. */
    static const char turn[] = "L: add.s32 %r8, %r8, 1; st.global.b32 [g], %r8; @%p1 bra L;";
    assert_same(turn,
                "L: add.s32 %r8, %r8, 1; st.global.b32 [g], %r8; @!%p1 bra X; add.s32 %r8, %r8, "
                "1; st.global.b32 [g], %r8; @%p1 bra L; X:");
    assert_other(turn,
                 "L: add.s32 %r8, %r8, 1; st.global.b32 [g], %r8; @%p1 bra X; add.s32 %r8, %r8, "
                 "1; st.global.b32 [g], %r8; @%p1 bra L; X:");
    assert_other(turn,
                 "L: add.s32 %r8, %r8, 1; st.global.b32 [g], %r8; @!%p2 bra X; add.s32 %r8, %r8, "
                 "1; st.global.b32 [g], %r8; @%p1 bra L; X:");
    assert_other(turn,
                 "L: add.s32 %r8, %r8, 1; st.global.b32 [g], %r8; @!%p1 bra X; add.s32 %r8, %r8, "
                 "2; st.global.b32 [g], %r8; @%p1 bra L; X:");
    assert_other(turn, "L: add.s32 %r8, %r8, 1; st.global.b32 [g], %r8; add.s32 %r8, %r8, "
                       "1; st.global.b32 [g], %r8; @%p1 bra L;");
    assert_other(turn,
                 "L: add.s32 %r8, %r8, 1; st.global.b32 [g], %r8; @!%p1 bra X; add.s32 %r8, %r8, "
                 "1; st.global.b32 [g], %r8; X:");
    /* Ways that are nothing but a jump. */
    assert_same("@%p1 bra DONE; bar.sync 0;", "@!%p1 bra X; bra DONE; X: bar.sync 0;");
    assert_other("@%p1 bra DONE; bar.sync 0;", "@%p1 bra X; bra DONE; X: bar.sync 0;");
    assert_other("@%p1 bra DONE; bar.sync 0;", "@!%p1 bra X; bra X; X: bar.sync 0;");
    /* Blocks under a predicate. */
    static const char over[] = "@%p1 bra L; add.s32 %r1, %r2, 1; st.global.b32 [g], %r1; L: "
                               "st.shared.b32 [s], %r1;";
    assert_same(over,
                "@!%p1 add.s32 %r1, %r2, 1; @!%p1 st.global.b32 [g], %r1; st.shared.b32 [s], %r1;");
    assert_other(over,
                 "@%p1 add.s32 %r1, %r2, 1; @%p1 st.global.b32 [g], %r1; st.shared.b32 [s], %r1;");
    assert_other(over,
                 "@!%p1 add.s32 %r1, %r2, 1; st.global.b32 [g], %r1; st.shared.b32 [s], %r1;");
    assert_other(over,
                 "add.s32 %r1, %r2, 1; @!%p1 st.global.b32 [g], %r1; st.shared.b32 [s], %r1;");
    assert_other(
        over, "@!%p1 add.s32 %r1, %r2, 1; @!%p2 st.global.b32 [g], %r1; st.shared.b32 [s], %r1;");
    assert_other(over, "@!%p1 add.s32 %r1, %r2, 1; st.shared.b32 [s], %r1;");
    assert_other(over, "st.shared.b32 [s], %r1;");
    /* A read-only load as an ordinary one, alone and in parts; nothing less, and not elsewhere. */
    assert_same("ld.global.nc.b32 %r1, [g]; st.global.b32 [g+4], %r1;",
                "ld.global.b32 %r1, [g]; st.global.b32 [g+4], %r1;");
    assert_same("st.global.b32 [g+8], %r9; @%p1 ld.global.cs.nc.v2.b32 {%r1, %r2}, [g]; "
                "st.global.b32 [g+4], %r2;",
                "@%p1 ld.global.v2.b32 {%r1, %r2}, [g]; st.global.b32 [g+8], %r9; "
                "st.global.b32 [g+4], %r2;");
    assert_same("ld.global.nc.v2.b32 {%r1, %r2}, [g]; st.global.b32 [g+8], %r2;",
                "ld.global.b32 %r1, [g]; ld.global.b32 %r2, [g+4]; st.global.b32 [g+8], %r2;");
    assert_other("ld.global.b32 %r1, [g]; st.global.b32 [g+4], %r1;",
                 "ld.global.nc.b32 %r1, [g]; st.global.b32 [g+4], %r1;");
    assert_other("ld.global.nc.b32 %r1, [g]; st.global.b32 [g+4], %r1;",
                 "ld.global.b32 %r1, [g+4]; st.global.b32 [g+4], %r1;");
    assert_other("ld.global.nc.b32 %r1, [g]; st.global.b32 [g+4], %r1;",
                 "ld.shared.b32 %r1, [g]; st.global.b32 [g+4], %r1;");
    assert_other("ld.global.nc.b32 %r1, [g]; bar.sync 0; st.global.b32 [g+4], %r1;",
                 "bar.sync 0; ld.global.b32 %r1, [g]; st.global.b32 [g+4], %r1;");
    assert_other("ld.global.nc.b32 %r1, [g]; ld.global.b32 %r2, [g]; st.global.b32 [g], %r2;",
                 "ld.global.b32 %r1, [g]; st.global.b32 [g], %r2; ld.global.b32 %r2, [g];");
    /* Jumps. */
    assert_other("L: bar.sync 0; @%p1 bra L; bar.sync 1; @%p1 bra L;",
                 "L: bar.sync 0; @%p1 bra DONE; bar.sync 1; @%p1 bra L;");
    assert_other("@%p1 bra DONE; bar.sync 0;", "@!%p1 bra DONE; bar.sync 0;");
    assert_other("@%p1 bra DONE; bar.sync 0;", "bra DONE; bar.sync 0;");
    assert_other("@%p1 bra DONE; bar.sync 0;", "bar.sync 0;");
}

static void test_outline(void **state)
{
    (void)state;
    evocc_error error;
#define CODE "{ .reg .b32 %r<2>; .shared .b32 x; ret; }"
    static const char base[] = ".version 8.7 .target sm_90a .entry k (.param .u32 a) " CODE;
    static const char *const equal[] = {
        ".version 9.0 .target sm_90a .entry k (.param .u32 a) // c\n" CODE,
        ".version 8.7 .target sm_90a .entry k (.param .u32 a) .maxnreg 64 .reqntid 8, 1, 1 " CODE,
        ".version 8.7 .target sm_90a .entry k (.param .u32 a) { .reg .b64 %rd<5>; .shared .b32 x; "
        ".pragma \"nounroll\"; ret; }"};
    static const char *const unequal[] = {
        ".version 8.7 .target sm_80 .entry k (.param .u32 a) " CODE,
        ".version 8.7 .target sm_90a .entry k (.param .u64 a) " CODE,
        ".version 8.7 .target sm_90a .entry l (.param .u32 a) " CODE,
        ".version 8.7 .target sm_90a .visible .entry k (.param .u32 a) " CODE,
        ".version 8.7 .target sm_90a .global .b32 g; .entry k (.param .u32 a) " CODE,
        ".version 8.7 .target sm_90a .entry k (.param .u32 a) { .shared .b64 x; ret; }",
        ".version 8.7 .target sm_90a .entry k (.param .u32 a) { ret; }",
        ".version 8.7 .target sm_90a .entry k (.param .u32 a) " CODE ".entry m() { ret; }"};
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++) {
        assert_int_equal(check_texts(base, equal[i], &error), EVOCC_OK);
    }
    for (size_t i = 0; i < sizeof unequal / sizeof *unequal; i++) {
        assert_int_equal(check_texts(base, unequal[i], &error), EVOCC_MISMATCH);
        assert_int_equal(check_texts(unequal[i], base, &error), EVOCC_MISMATCH);
    }
    assert_int_equal(check_bodies("mov.b32 %r1, 1;\nst.global.b32 [g], %r1;",
                                  "mov.b32 %r1, 1;\nst.global.b32 [g], %r2;", &error),
                     EVOCC_MISMATCH);
    assert_string_equal(error.message, "test.ptx: block k.b0: the rewritten block lacks or changes "
                                       "an effect: line 15: st.global.b32 [g], %r1;");
}

/* ---- Mutants ----------------------------------------------------------------------------------
 */

typedef enum mutation { DROP, SWAP, OPERAND, NUMBER, GUARD, OPCODE, MUTATIONS } mutation;

static bool is_used(const ptx_module *m, uint32_t statement)
{
    const ptx_statement *s = &m->statements[statement];
    const ptx_effect *effect = ptx_effect_of(m, s);
    if (!effect->pure && effect->reason != NULL && strcmp(effect->reason, "load") != 0) {
        return true;
    }
    /* Inline assembly clears what an unguarded load then overwrites. */
    if (strncmp(ptx_at(m, s->span), "mov.u", 5) == 0 &&
        memcmp(ptx_at(m, s->span) + ptx_span_length(s->span) - 4, "0x0;", 4) == 0) {
        return false;
    }
    /* Some register it writes is named by another statement. */
    const ptx_operand *first = &m->operands[s->first_operand];
    for (size_t i = 0; i < m->leaf_count; i++) {
        for (uint32_t l = 0; l < first->leaf_count; l++) {
            const ptx_leaf *own = &m->leaves[first->first_leaf + l];
            bool other = i < first->first_leaf || i >= first->first_leaf + first->leaf_count;
            if (other && own->kind == PTX_LEAF_REGISTER && m->leaves[i].kind == PTX_LEAF_REGISTER &&
                m->leaves[i].id == own->id) {
                return true;
            }
        }
    }
    for (size_t i = 0; i < m->statement_count; i++) {
        for (uint32_t l = 0; l < first->leaf_count; l++) {
            if (m->statements[i].guard != PTX_NONE &&
                m->statements[i].guard == m->leaves[first->first_leaf + l].id) {
                return true;
            }
        }
    }
    return false;
}

/* A leaf behind the first operand of this kind, chosen at random; NULL when there is none. */
static const ptx_leaf *source_leaf(const ptx_module *m, const ptx_statement *s, ptx_leaf_kind kind,
                                   rng *r)
{
    const ptx_leaf *found[512];
    size_t count = 0;
    for (uint32_t o = 1; o < s->operand_count; o++) {
        const ptx_operand *operand = &m->operands[s->first_operand + o];
        for (uint32_t l = 0; l < operand->leaf_count && count < 512; l++) {
            const ptx_leaf *leaf = &m->leaves[operand->first_leaf + l];
            if (leaf->kind == kind) {
                found[count++] = leaf;
            }
        }
    }
    return count == 0 ? NULL : found[rng_below(r, count)];
}

static void replace(strbuf *out, const ptx_module *m, ptx_span span, const char *text)
{
    strbuf_append(out, m->text, span.begin);
    strbuf_puts(out, text);
    strbuf_append(out, m->text + span.end, m->length - span.end);
}

/* The second instruction reads what the first writes. */
static bool feeds(const ptx_module *m, const ptx_statement *a, const ptx_statement *b)
{
    const ptx_operand *first = &m->operands[a->first_operand];
    if (a->operand_count == 0 || ptx_effect_of(m, a)->destination == PTX_WRITES_NOTHING) {
        return false;
    }
    for (uint32_t o = 0; o < b->operand_count; o++) {
        const ptx_operand *operand = &m->operands[b->first_operand + o];
        for (uint32_t l = 0; l < operand->leaf_count; l++) {
            const ptx_leaf *leaf = &m->leaves[operand->first_leaf + l];
            if (o > 0 && leaf->kind == PTX_LEAF_REGISTER && first->leaf_count == 1 &&
                leaf->id == m->leaves[first->first_leaf].id) {
                return true;
            }
        }
    }
    return false;
}

/* Writes a mutant of instruction i; false when the mutation does not apply there. */
static bool mutate(strbuf *out, const ptx_module *m, uint32_t i, mutation how, rng *r)
{
    const ptx_statement *s = &m->statements[i];
    const ptx_leaf *leaf;
    char text[128];
    switch (how) {
    case DROP:
        replace(out, m, s->span, "");
        return true;
    case SWAP: {
        const ptx_statement *next = s + 1;
        if (i + 1 >= m->statement_count || next->kind != PTX_INSTRUCTION || !feeds(m, s, next)) {
            return false;
        }
        strbuf_append(out, m->text, s->span.begin);
        strbuf_append(out, m->text + next->span.begin, ptx_span_length(next->span));
        strbuf_puts(out, "\n");
        strbuf_append(out, m->text + s->span.begin, ptx_span_length(s->span));
        strbuf_append(out, m->text + next->span.end, m->length - next->span.end);
        return true;
    }
    case OPERAND:
        leaf = source_leaf(m, s, PTX_LEAF_REGISTER, r);
        if (leaf != NULL) {
            replace(out, m, leaf->span, "%tid.z");
        }
        return leaf != NULL;
    case NUMBER:
        /* A mask or a field may have bits where its operand has none; beyond 31 all shifts are
           alike. */
        leaf = strncmp(m->opcodes[s->opcode].text, "and.", 4) == 0 ||
                       strncmp(m->opcodes[s->opcode].text, "shr.", 4) == 0 ||
                       strncmp(m->opcodes[s->opcode].text, "bfe.", 4) == 0
                   ? NULL
                   : source_leaf(m, s, PTX_LEAF_NUMBER, r);
        if (leaf != NULL) {
            /* One more in the last digit of what is no 9 or f. */
            snprintf(text, sizeof text, "%.*s", (int)ptx_span_length(leaf->span),
                     ptx_at(m, leaf->span));
            char *last = text + strlen(text) - 1;
            *last = (char)(*last == '9' || *last == 'F' || *last == 'f' ? '1' : *last + 1);
            replace(out, m, leaf->span, text);
        }
        return leaf != NULL;
    case GUARD:
        if (s->guard == PTX_NONE) {
            return false;
        }
        replace(out, m, (ptx_span){s->span.begin, s->span.begin + 1},
                s->guard_negated ? "@" : "@!");
        if (s->guard_negated) {
            *strchr(out->data + s->span.begin, '!') = ' ';
        }
        return true;
    case OPCODE: {
        const char *opcode = strstr(ptx_at(m, s->span), m->opcodes[s->opcode].text);
        size_t at = (size_t)(opcode - m->text);
        replace(out, m, (ptx_span){(uint32_t)at, (uint32_t)at}, "q");
        return opcode < m->text + s->span.end;
    }
    case MUTATIONS:
        break;
    }
    return false;
}

/* An example without its block size: below it, more bits of %tid make no difference. */
static ptx_module *module_without_bounds(const char *path)
{
    size_t length;
    char *text = text_of_file(path, &length);
    char *at = strstr(text, ".reqntid");
    assert_non_null(at);
    memset(at, ' ', strcspn(at, "\n"));
    ptx_module *m = module_of(text);
    mem_free(text);
    return m;
}

/* The only mutants that may pass are those of values that nothing uses. */
static void test_mutants(void **state)
{
    (void)state;
    static const char *const names[MUTATIONS] = {"drop",   "swap",  "operand",
                                                 "number", "guard", "opcode"};
    static const int wanted[EXAMPLE_COUNT] = {6, 10, 40, 40};
    rng r;
    rng_seed(&r, 1);
    for (size_t e = 0; e < EXAMPLE_COUNT; e++) {
        ptx_module *m = module_without_bounds(example_paths[e]);
        for (int how = 0; how < MUTATIONS; how++) {
            int done = 0;
            for (int tries = 0; tries < 4000 && done < wanted[e]; tries++) {
                uint32_t i = (uint32_t)rng_below(&r, m->statement_count);
                strbuf text = {0};
                if (m->statements[i].kind != PTX_INSTRUCTION || !is_used(m, i) ||
                    !mutate(&text, m, i, (mutation)how, &r)) {
                    strbuf_dispose(&text);
                    continue;
                }
                evocc_error error;
                ptx_module *mutant = module_of(text.data);
                evocc_status status = ptx_check(m, mutant, &error);
                if (status != EVOCC_MISMATCH) {
                    ptx_span span = m->statements[i].span;
                    fail_msg("%s: %s not caught: %.*s", example_paths[e], names[how],
                             (int)ptx_span_length(span), ptx_at(m, span));
                }
                ptx_free(mutant);
                strbuf_dispose(&text);
                done++;
            }
            assert_true(done == wanted[e] || how == GUARD || how == SWAP);
        }
        ptx_free(m);
    }
}

static void test_passes(void **state)
{
    (void)state;
    static const char *const entries[] = {"fa", "fa", "ln", "mm"};
    static const char *const orders[] = {"late", "early", "pressure", "seed2", "seed8"};
    for (size_t e = 0; e < EXAMPLE_COUNT; e++) {
        ptx_module *m = module_of_file(example_paths[e]);
        for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
            char name[64], frequency[64];
            snprintf(name, sizeof name, "order@%s", entries[e]);
            snprintf(frequency, sizeof frequency, "frequency@%s", entries[e]);
            const ptx_setting settings[] = {{name, orders[o]}, {frequency, "loops4"}};
            evocc_error error;
            strbuf text = {0};
            assert_int_equal(ptx_rewrite(&text, m, settings, 2, &error), EVOCC_OK);
            ptx_module *after = module_of(text.data);
            if (ptx_check(m, after, &error) != EVOCC_OK) {
                fail_msg("%s", error.message);
            }
            ptx_free(after);
            strbuf_dispose(&text);
        }
        ptx_free(m);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    ptx_module *a = module_of_file("tests/ptx/data/odd.ptx");
    for (long n = 0;; n++) {
        evocc_error error;
        mem_fail_after(n);
        evocc_status status = ptx_check(a, a, &error);
        mem_fail_after(-1);
        if (status == EVOCC_OK) {
            assert_true(n > 20);
            break;
        }
        assert_int_equal(status, EVOCC_NO_MEMORY);
    }
    ptx_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic), cmocka_unit_test(test_effects),
        cmocka_unit_test(test_blocks),     cmocka_unit_test(test_outline),
        cmocka_unit_test(test_passes),     cmocka_unit_test(test_mutants),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
