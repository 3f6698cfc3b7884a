/** Finds server programs: installed, unpacked or in container images. */
@NullMarked
package dev.interlock.testbed.install;

import org.jspecify.annotations.NullMarked;
