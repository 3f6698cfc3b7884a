/** The project's pages and Javadoc as a site. */
@NullMarked
package dev.interlock.site;

import org.jspecify.annotations.NullMarked;
