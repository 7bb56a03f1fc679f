package dev.slicewright.bench;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * What a benchmark in sample mode must keep to: {@link BenchGate} fails the run where it does not.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@interface AtMost {

  /** The 99th percentile must be below this. */
  double p99Millis();

  /** With fewer samples nothing is shown. */
  long samples();
}
