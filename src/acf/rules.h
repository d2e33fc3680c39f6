/*
 * rules.h: which characters each text of an ACF may hold. Internal to acf.
 *
 * One table for reading and for making, so that whatever acf_new accepts can be read back, and
 * nothing that reads as a shell word, a path or a second line ever gets into an object.
 */
#ifndef ACF_RULES_H
#define ACF_RULES_H

#include <evocc/evocc.h>

typedef enum acf_rule {
    ACF_RULE_COMPILER,
    ACF_RULE_VERSION,
    ACF_RULE_ARCH,
    ACF_RULE_KERNEL,
    ACF_RULE_BASE,
    ACF_RULE_PTX,
    ACF_RULE_CONTROL,
    ACF_RULE_VALUE,
    ACF_RULE_FOUND_KEY,
    ACF_RULE_FOUND_TEXT
} acf_rule;

/* "a control name", for messages. */
const char *acf_rule_what(acf_rule rule);

/* NULL when the text obeys; else what is allowed, as a phrase to put behind "must be". */
const char *acf_rule_broken(acf_rule rule, const char *text);

#endif
