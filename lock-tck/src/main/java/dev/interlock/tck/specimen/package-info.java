/**
 * Specimens: locks with a known fault, which the kit must refuse.
 *
 * <p>A kit that never fails would pass every backend, so it is tested with broken locks. Each
 * {@link dev.interlock.tck.specimen.Specimen} describes its fault, and names exactly the rules that
 * must refuse it. {@link dev.interlock.tck.specimen.SpecimenSuite}, extended like {@link
 * dev.interlock.tck.LockTck}, runs these rules, or on request the whole kit, and fails if other
 * rules refuse it. The package is part of the product: anyone who has found a broken lock can show
 * with the same few lines that the kit refuses it.
 *
 * <p>A specimen is a broken backend, or a wrapper around a correct one. The classes whose names
 * begin with {@code Forwarding} help with wrappers: they forward every call, and a specimen
 * overrides the calls that it gets wrong.
 */
@NullMarked
package dev.interlock.tck.specimen;

import org.jspecify.annotations.NullMarked;
