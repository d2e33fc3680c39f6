/*
 * gcc_table.c: what the options that gcc lists may do to a program, name by name (GCC 12 to 15
 * manuals, "Optimize Options", "x86 Options"; gcc/params.opt). An option that no row names may
 * change results, as far as this program knows, and is searched only where that is allowed.
 */
#include "compiler/gcc_table.h"

#include <string.h>

/* Decide how, never what is computed. */
static const char exact[] =
    " falign-functions falign-jumps falign-labels falign-loops favoid-store-forwarding "
    "fbit-tests fbranch-count-reg fcaller-saves fcode-hoisting fcombine-stack-adjustments "
    "fcompare-elim fconserve-stack fcprop-registers fcrossjumping fcse-follow-jumps fdce "
    "fdefer-pop fdse fearly-inlining fexpensive-optimizations fext-dce ffold-mem-offsets "
    "fforward-propagate ffunction-cse fgcse fgcse-after-reload fgcse-las fgcse-lm fgcse-sm "
    "fgraphite fgraphite-identity fguess-branch-probability fhoist-adjacent-loads "
    "fif-conversion fif-conversion2 findirect-inlining finline finline-functions "
    "finline-functions-called-once finline-small-functions fipa-bit-cp fipa-cp fipa-cp-clone "
    "fipa-icf fipa-icf-functions fipa-icf-variables fipa-modref fipa-profile fipa-pta "
    "fipa-pure-const fipa-ra fipa-reference fipa-reference-addressable fipa-sra "
    "fipa-stack-alignment fipa-vrp fira-algorithm fira-hoist-pressure fira-loop-pressure "
    "fira-region fira-share-save-slots fira-share-spill-slots fivopts fjump-tables "
    "flate-combine-instructions flimit-function-alignment flive-range-shrinkage "
    "floop-interchange floop-nest-optimize floop-unroll-and-jam flra-remat fmodulo-sched "
    "fmodulo-sched-allow-regmoves fmove-loop-invariants fmove-loop-stores fomit-frame-pointer "
    "foptimize-sibling-calls foptimize-strlen fpartial-inlining fpeel-loops fpeephole "
    "fpeephole2 fpredictive-commoning fprefetch-loop-arrays free frename-registers "
    "freorder-blocks freorder-blocks-algorithm freorder-blocks-and-partition freorder-functions "
    "frerun-cse-after-loop freschedule-modulo-scheduled-loops fsched-critical-path-heuristic "
    "fsched-dep-count-heuristic fsched-group-heuristic fsched-interblock "
    "fsched-last-insn-heuristic fsched-pressure fsched-rank-heuristic fsched-spec "
    "fsched-spec-insn-heuristic fsched-spec-load fsched2-use-superblocks fschedule-insns "
    "fschedule-insns2 fsel-sched-pipelining fsel-sched-pipelining-outer-loops "
    "fsel-sched-reschedule-pipelined fselective-scheduling fselective-scheduling2 fshrink-wrap "
    "fshrink-wrap-separate fsimd-cost-model fsplit-ivs-in-unroller fsplit-loops fsplit-paths "
    "fsplit-wide-types fsplit-wide-types-early fssa-backprop fssa-phiopt fstack-reuse "
    "fstdarg-opt fstore-merging fthread-jumps ftracer ftree-bit-ccp ftree-builtin-call-dce "
    "ftree-ccp ftree-ch ftree-coalesce-vars ftree-copy-prop ftree-cselim ftree-dce "
    "ftree-dominator-opts ftree-dse ftree-forwprop ftree-fre ftree-loop-distribute-patterns "
    "ftree-loop-distribution ftree-loop-if-convert ftree-loop-im ftree-loop-ivcanon "
    "ftree-loop-optimize ftree-loop-vectorize ftree-lrs ftree-partial-pre ftree-phiprop "
    "ftree-pre ftree-pta ftree-reassoc ftree-scev-cprop ftree-sink ftree-slp-vectorize "
    "ftree-slsr ftree-sra ftree-switch-conversion ftree-tail-merge ftree-ter ftree-vectorize "
    "ftree-vrp funroll-all-loops funroll-completely-grow-size funroll-loops funswitch-loops "
    "fvariable-expansion-in-unroller fvect-cost-model fversion-loops-for-strides fweb ";

/* Tuning of the target; other options of --help=target choose instructions or the ABI. */
static const char target[] =
    " maccumulate-outgoing-args malign-stringops mbranch-cost minline-all-stringops "
    "minline-stringops-dynamically mmove-max mprefer-vector-width mstore-max mstringop-strategy "
    "mstv munroll-only-small-loops mvzeroupper ";

/* Let gcc assume something of the program: that it obeys the language's rules. A search may take
   the assumption away but not add one that the user's own options leave out. */
static const char assuming[] =
    " faggressive-loop-optimizations fallocation-dce fdelete-null-pointer-checks fdevirtualize "
    "fdevirtualize-speculatively ffinite-loops fipa-strict-aliasing "
    "fisolate-erroneous-paths-dereference fprintf-return-value fstrict-aliasing "
    "ftoplevel-reorder ";

/* Change floating-point results, or what the program may ask about them (errno, exceptions). */
static const char rounding[] =
    " fassociative-math fcx-fortran-rules fcx-limited-range ffast-math ffinite-math-only "
    "ffloat-store ffp-contract ffp-int-builtin-inexact fmath-errno freciprocal-math "
    "frounding-math fsignaling-nans fsigned-zeros fsingle-precision-constant ftrapping-math "
    "funsafe-math-optimizations ";

/* Change the ABI, the language, what is linked, debugging or protection; need a profile or threads;
   or are not for C, or not for targets without delay slots and the like. */
static const char left_out[] =
    " fallow-store-data-races fasynchronous-unwind-tables fauto-inc-dec fbranch-probabilities "
    "fdelayed-branch fdelete-dead-exceptions fexceptions fexcess-precision ffold-simple-inlines "
    "fhandle-exceptions fharden-compares fharden-conditional-branches finline-atomics "
    "fisolate-erroneous-paths-attribute fkeep-gc-roots-live flifetime-dse flive-patching "
    "floop-parallelize-all fno-threadsafe-statics fnon-call-exceptions fnothrow-opt fopt-info "
    "fpack-struct fpatchable-function-entry fplt fprofile-partial-training "
    "fprofile-reorder-functions freg-struct-return frtti fsave-optimization-record "
    "fsched-spec-load-dangerous fsched-stalled-insns fsched-stalled-insns-dep fschedule-fusion "
    "fsection-anchors fsemantic-interposition fshort-enums fshort-wchar fstack-check "
    "fstack-clash-protection fstack-protector fstack-protector-all fstack-protector-explicit "
    "fstack-protector-strong fstrict-enums fstrict-volatile-bitfields ftrapv "
    "ftree-parallelize-loops ftrivial-auto-var-init funconstrained-commons funwind-tables "
    "fvar-tracking fvar-tracking-assignments fvar-tracking-assignments-toggle "
    "fvar-tracking-uninit fvpt fwrapv fwrapv-pointer ";

/* Of --help=params. Not among them, because they change rounding: avoid-fma-max-bits,
   vect-induction-float, max-pow-sqrt-depth. */
static const char exact_parameters[] =
    " align-loop-iterations align-threshold avg-loop-niter builtin-expect-probability "
    "builtin-string-cmp-inline-length case-values-threshold dse-max-alias-queries-per-store "
    "dse-max-object-size early-inlining-insns evrp-mode evrp-sparse-threshold evrp-switch-limit "
    "fsm-scale-path-blocks fsm-scale-path-stmts gcse-after-reload-critical-fraction "
    "gcse-after-reload-partial-fraction gcse-cost-distance-ratio gcse-unrestricted-cost "
    "graphite-max-arrays-per-scop graphite-max-nb-scop-params hot-bb-frequency-fraction "
    "inline-heuristics-hint-percent inline-min-speedup inline-unit-growth ipa-cp-eval-threshold "
    "ipa-cp-large-unit-insns ipa-cp-loop-hint-bonus ipa-cp-max-recursive-depth "
    "ipa-cp-min-recursive-probability ipa-cp-recursion-penalty ipa-cp-recursive-freq-factor "
    "ipa-cp-single-call-penalty ipa-cp-unit-growth ipa-cp-value-list-size "
    "ipa-jump-function-lookups ipa-max-aa-steps ipa-max-agg-items ipa-max-loop-predicates "
    "ipa-max-param-expr-ops ipa-max-switch-predicate-bounds ipa-sra-max-replacements "
    "ipa-sra-ptr-growth-factor ira-consider-dup-in-all-alts ira-loop-reserved-regs "
    "ira-max-conflict-table-size ira-max-loops-num iv-always-prune-cand-set-bound "
    "iv-consider-all-candidates-bound iv-max-considered-uses "
    "jump-table-max-growth-ratio-for-size jump-table-max-growth-ratio-for-speed "
    "l1-cache-line-size l1-cache-size l2-cache-size large-function-growth large-function-insns "
    "large-stack-frame large-stack-frame-growth large-unit-insns lim-expensive "
    "logical-op-non-short-circuit loop-block-tile-size loop-interchange-max-num-stmts "
    "loop-interchange-stride-ratio loop-invariant-max-bbs-in-loop "
    "loop-max-datarefs-for-datadeps loop-versioning-max-inner-insns "
    "loop-versioning-max-outer-insns lra-inheritance-ebb-probability-cutoff "
    "lra-max-considered-reload-pseudos ";

static const char exact_parameters_max[] =
    " max-average-unrolled-insns max-combine-insns "
    "max-completely-peel-loop-nest-depth max-completely-peel-times max-completely-peeled-insns "
    "max-crossjump-edges max-cse-insns max-cse-path-length max-cselib-memory-locations "
    "max-dse-active-local-stores max-early-inliner-iterations max-fields-for-field-sensitive "
    "max-find-base-term-values max-fsm-thread-length max-fsm-thread-path-insns "
    "max-gcse-insertion-ratio max-gcse-memory max-goto-duplication-insns max-grow-copy-bb-insns "
    "max-hoist-depth max-inline-functions-called-once-insns "
    "max-inline-functions-called-once-loop-depth max-inline-insns-auto "
    "max-inline-insns-recursive max-inline-insns-recursive-auto max-inline-insns-single "
    "max-inline-insns-size max-inline-insns-small max-inline-recursive-depth "
    "max-inline-recursive-depth-auto max-isl-operations max-iterations-computation-cost "
    "max-iterations-to-track max-jump-thread-duplication-stmts max-last-value-rtl "
    "max-loop-header-insns max-modulo-backtrack-attempts max-partial-antic-length "
    "max-peel-branches max-peel-times max-peeled-insns max-pending-list-length "
    "max-pipeline-region-blocks max-pipeline-region-insns max-predicted-iterations "
    "max-reload-search-insns max-rtl-if-conversion-insns max-rtl-if-conversion-predictable-cost "
    "max-rtl-if-conversion-unpredictable-cost max-sched-extend-regions-iters "
    "max-sched-insn-conflict-delay max-sched-ready-insns max-sched-region-blocks "
    "max-sched-region-insns max-slsr-cand-scan max-ssa-name-query-depth "
    "max-store-chains-to-track max-stores-to-merge max-stores-to-sink max-stores-to-track "
    "max-tail-merge-comparisons max-tail-merge-iterations max-tracked-strlens "
    "max-tree-if-conversion-phi-args max-unroll-times max-unrolled-insns max-unswitch-insns "
    "max-unswitch-level max-variable-expansions-in-unroller max-vrp-switch-assertions "
    "min-crossjump-insns min-inline-recursive-probability min-insn-to-prefetch-ratio "
    "min-loop-cond-split-prob min-size-for-stack-sharing min-spec-prob min-vect-loop-bound "
    "modref-max-accesses modref-max-adjustments modref-max-bases modref-max-depth "
    "modref-max-escape-points modref-max-refs modref-max-tests "
    "partial-inlining-entry-probability predictable-branch-outcome prefetch-dynamic-strides "
    "prefetch-latency prefetch-min-insn-to-mem-ratio prefetch-minimum-stride "
    "ranger-logical-depth relation-block-limit rpo-vn-max-loop-depth "
    "sccvn-max-alias-queries-per-access scev-max-expr-complexity scev-max-expr-size "
    "sched-autopref-queue-depth sched-mem-true-dep-cost sched-pressure-algorithm "
    "sched-spec-prob-cutoff sched-state-edge-prob-cutoff selsched-insns-to-rename "
    "selsched-max-lookahead selsched-max-sched-times simultaneous-prefetches "
    "sink-frequency-threshold sms-dfa-history sms-loop-average-count-threshold "
    "sms-max-ii-factor sms-min-sc sra-max-propagations sra-max-scalarization-size-Osize "
    "sra-max-scalarization-size-Ospeed ssa-name-def-chain-limit store-merging-allow-unaligned "
    "store-merging-max-size switch-conversion-max-branch-ratio tracer-dynamic-coverage "
    "tracer-max-code-growth tracer-min-branch-probability tracer-min-branch-ratio "
    "tree-reassoc-width uninlined-function-insns uninlined-function-time uninlined-thunk-insns "
    "uninlined-thunk-time unroll-jam-max-unroll unroll-jam-min-percent vect-epilogues-nomask "
    "vect-inner-loop-cost-factor vect-max-peeling-for-alignment "
    "vect-max-version-for-alias-checks vect-max-version-for-alignment-checks "
    "vect-partial-vector-usage vrp1-mode vrp2-mode x86-stlf-window-ninsns ";

/* Of analyzers, sanitizers, link-time optimisation, threads, debugging, profiles; or without effect
   on code. */
static const char left_out_parameters[] =
    " analyzer-bb-explosion-factor analyzer-max-constraints analyzer-max-enodes-for-full-dump "
    "analyzer-max-enodes-per-program-point analyzer-max-infeasible-edges "
    "analyzer-max-recursion-depth analyzer-max-svalue-depth "
    "analyzer-min-snodes-for-call-summary asan-globals asan-instrument-allocas "
    "asan-instrument-reads asan-instrument-writes asan-instrumentation-with-call-threshold "
    "asan-memintrin asan-stack asan-use-after-return comdat-sharing-probability "
    "constructive-interference-size cxx-max-namespaces-for-diagnostic-help "
    "destructive-interference-size ggc-min-expand ggc-min-heapsize "
    "gimple-fe-computed-hot-bb-threshold graphite-allow-codegen-errors "
    "hash-table-verification-limit hot-bb-count-fraction hot-bb-count-ws-permille "
    "hwasan-instrument-allocas hwasan-instrument-mem-intrinsics hwasan-instrument-reads "
    "hwasan-instrument-stack hwasan-instrument-writes hwasan-random-frame-tag "
    "integer-share-limit ipa-cp-profile-count-base lazy-modules lto-max-partition "
    "lto-max-streaming-parallelism lto-min-partition lto-partitions max-debug-marker-count "
    "max-delay-slot-insn-search max-delay-slot-live-search max-speculative-devirt-maydefs "
    "max-vartrack-expr-depth max-vartrack-reverse-op-size max-vartrack-size "
    "min-nondebug-insn-uid min-pagesize openacc-kernels openacc-privatization "
    "parloops-chunk-size parloops-min-per-thread parloops-schedule profile-func-internal-id "
    "ranger-debug ssp-buffer-size stack-clash-protection-guard-size "
    "stack-clash-protection-probe-interval threader-debug tm-max-aggregate-size "
    "tracer-dynamic-coverage-feedback tracer-min-branch-probability-feedback "
    "tsan-distinguish-volatile tsan-instrument-func-entry-exit uninit-control-dep-attempts "
    "unlikely-bb-count-fraction use-after-scope-direct-emission-threshold use-canonical-types ";

/* Alignments are given as "=" numbers that --help does not bound. */
static const char alignments[] = " falign-functions falign-jumps falign-labels falign-loops ";

/* A list is a string of names, each between blanks. */
static bool is_in(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(list, name); at != NULL; at = strstr(at + 1, name)) {
        if (at[-1] == ' ' && at[length] == ' ') {
            return true;
        }
    }
    return false;
}

gcc_effect gcc_effect_of(const char *name)
{
    static const struct {
        const char *names;
        gcc_effect effect;
    } lists[] = {{exact, GCC_EXACT},
                 {assuming, GCC_ASSUMES},
                 {rounding, GCC_ROUNDING},
                 {left_out, GCC_LEFT_OUT},
                 {target, GCC_EXACT}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (is_in(lists[i].names, name)) {
            return lists[i].effect;
        }
    }
    return name[0] == 'm' ? GCC_LEFT_OUT : GCC_ROUNDING;
}

gcc_effect gcc_effect_of_parameter(const char *name)
{
    return is_in(exact_parameters, name) || is_in(exact_parameters_max, name) ? GCC_EXACT
           : is_in(left_out_parameters, name)                                 ? GCC_LEFT_OUT
                                                                              : GCC_ROUNDING;
}

bool gcc_is_alignment(const char *name)
{
    return is_in(alignments, name);
}
