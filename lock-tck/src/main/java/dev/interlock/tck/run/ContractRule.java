package dev.interlock.tck.run;

import dev.interlock.Capability;
import org.jspecify.annotations.Nullable;

/**
 * One rule of the contract, as written in {@code docs/contract.md}.
 *
 * @param id the identifier, such as {@code EXCL-01}; it never changes
 * @param title the rule in one line
 * @param capability the capability that the rule is about, or null if it binds every backend
 * @param statement the statement that must hold
 * @param why the consequence of a violation
 * @param test the kit's test, in words
 * @param check the places to look at when the test fails
 * @param without the statement for backends without the capability, or null if the rule binds all
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
