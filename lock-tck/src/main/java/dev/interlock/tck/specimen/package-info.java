/**
 * Wrong locks, and the proof that the kit refuses them.
 *
 * <p>A kit that passes everything would pass every backend, so it has to be shown broken locks:
 * each {@link dev.interlock.tck.specimen.Specimen} says what is wrong with it and exactly which
 * rules it must fail, and {@link dev.interlock.tck.specimen.SpecimenSuite}, extended like {@link
 * dev.interlock.tck.LockTck}, runs these rules on each, or the whole kit when asked to, and fails
 * when another set of rules does. The package is part of the product: whoever has met a wrong lock
 * can show that it is refused, with the same few lines.
 *
 * <p>A specimen is a backend behind the SPI, or an altered view of a right one; for the latter
 * there are the classes whose names begin with {@code Forwarding}: they pass every call on, and a
 * specimen overrides the one that it gets wrong.
 */
@NullMarked
package dev.interlock.tck.specimen;

import org.jspecify.annotations.NullMarked;
