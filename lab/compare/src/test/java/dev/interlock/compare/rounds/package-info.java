/** What rounds give, and what is made of it. */
package dev.interlock.compare.rounds;
