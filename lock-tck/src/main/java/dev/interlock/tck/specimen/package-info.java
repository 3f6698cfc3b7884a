/**
 * Wrong locks, and the proof that the kit refuses them.
 *
 * <p>A kit that never fails would pass every backend, so it is tested with broken locks. Each
 * {@link dev.interlock.tck.specimen.Specimen} says what is wrong with it and exactly which rules
 * must refuse it. {@link dev.interlock.tck.specimen.SpecimenSuite}, extended like {@link
 * dev.interlock.tck.LockTck}, runs these rules on each, or the whole kit on request, and fails if
 * another set of rules refuses it. The package is part of the product: anyone who has found a wrong
 * lock can show with the same few lines that the kit refuses it.
 *
 * <p>A specimen is a wrong backend, or a wrapper around a right one. The classes whose names begin
 * with {@code Forwarding} help with wrappers: they forward every call, and a specimen overrides the
 * one that it gets wrong.
 */
@NullMarked
package dev.interlock.tck.specimen;

import org.jspecify.annotations.NullMarked;
