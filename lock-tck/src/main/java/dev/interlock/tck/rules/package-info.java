/**
 * The rules of the contract as tests, one class per section. They are run by {@link
 * dev.interlock.tck.LockTck}.
 */
@NullMarked
package dev.interlock.tck.rules;

import org.jspecify.annotations.NullMarked;
