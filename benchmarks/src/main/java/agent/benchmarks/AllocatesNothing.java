package agent.benchmarks;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a benchmark whose operation allocates nothing on the heap. The tests of this module run
 * each of them and count the bytes; {@code -prof gc} shows them with those of its harness.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface AllocatesNothing {}
