/** Tests of the test runner. */
package dev.interlock.verify;
