/** Tests that the comparison measures and reports correctly, also when backends fail. */
package dev.interlock.compare;
