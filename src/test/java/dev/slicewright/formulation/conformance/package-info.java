/**
 * Tests for whoever writes a {@link dev.slicewright.formulation.Formulation}: extend {@link
 * dev.slicewright.formulation.conformance.FormulationConformance} in a JUnit 5 test. Published as
 * the library's test-jar.
 */
package dev.slicewright.formulation.conformance;
