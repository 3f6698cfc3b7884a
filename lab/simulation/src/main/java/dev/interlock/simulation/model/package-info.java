/** The models of stores, the network in front of them, and their backends. */
@NullMarked
package dev.interlock.simulation.model;

import org.jspecify.annotations.NullMarked;
