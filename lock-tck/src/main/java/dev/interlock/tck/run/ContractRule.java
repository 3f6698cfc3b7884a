package dev.interlock.tck.run;

import dev.interlock.Capability;
import org.jspecify.annotations.Nullable;

/**
 * One rule of the contract, as written in {@code docs/contract.md}.
 *
 * @param id the identifier, such as {@code EXCL-01}; it never changes
 * @param title the rule in one line
 * @param capability the capability that the rule is about, or null if it binds every backend
 * @param statement what must hold
 * @param why what goes wrong otherwise
 * @param test how the kit tests it
 * @param check where to look when the test fails
 * @param without what a backend without the capability must do instead, or null if the rule binds
 *     all
 */
public record ContractRule(
    String id,
    String title,
    @Nullable Capability capability,
    String statement,
    String why,
    String test,
    String check,
    @Nullable String without) {}
