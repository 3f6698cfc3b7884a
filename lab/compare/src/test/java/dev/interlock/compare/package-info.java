/** That the comparison measures what it says, reports it faithfully, and survives what fails. */
package dev.interlock.compare;
