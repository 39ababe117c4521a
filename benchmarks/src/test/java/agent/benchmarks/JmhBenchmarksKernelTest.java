package agent.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.HeapAllocation;
import agent.testkit.KernelTest;
import java.lang.annotation.Annotation;
import java.lang.invoke.LambdaMetafactory;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.BenchmarkList;
import org.openjdk.jmh.runner.BenchmarkListEntry;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.VerboseMode;

/** The JMH benchmarks run, and those that are said to allocate nothing do not. */
@KernelTest
class JmhBenchmarksKernelTest {
  private static final int CALLS = 200;

  /** Other runs of JMH do not matter here, and its lock file would stay in the temporary folder. */
  @BeforeAll
  static void ignoreLock() {
    System.setProperty("jmh.ignoreLock", "true");
  }

  static List<String> allocationFree() {
    return benchmarks()
        .filter(method -> method.isAnnotationPresent(AllocatesNothing.class))
        .map(method -> method.getDeclaringClass().getName() + "." + method.getName())
        .toList();
  }

  private static Stream<Method> benchmarks() {
    return BenchmarkList.defaultList()
        .getAll(OutputFormatFactory.createFormatInstance(System.out, VerboseMode.SILENT), List.of())
        .stream()
        .map(BenchmarkListEntry::getUserClassQName)
        .distinct()
        .flatMap(name -> methods(type(name), Benchmark.class, benchmark -> true).stream());
  }

  private static Class<?> type(String name) {
    try {
      return Class.forName(name);
    } catch (ClassNotFoundException e) {
      throw new AssertionError(e);
    }
  }

  private static <A extends Annotation> List<Method> methods(
      Class<?> type, Class<A> annotation, Predicate<A> which) {
    return Arrays.stream(type.getMethods())
        .filter(method -> method.isAnnotationPresent(annotation))
        .filter(method -> which.test(method.getAnnotation(annotation)))
        .toList();
  }

  private static void call(Object state, Collection<Method> methods) throws Exception {
    for (final Method method : methods) {
      method.invoke(state);
    }
  }

  @ParameterizedTest
  @MethodSource("allocationFree")
  void shouldAllocateNothing(String benchmark) throws Throwable {
    final int dot = benchmark.lastIndexOf('.');
    final Class<?> type = type(benchmark.substring(0, dot));
    final Object state = type.getConstructor().newInstance();
    for (final Field field : type.getFields()) {
      if (field.isAnnotationPresent(Param.class)) {
        field.setInt(state, Integer.parseInt(field.getAnnotation(Param.class).value()[0]));
      }
    }
    final List<Method> before =
        methods(type, Setup.class, setup -> setup.value() == Level.Invocation);
    final Runnable operation = operation(state, type.getMethod(benchmark.substring(dot + 1)));
    call(state, methods(type, Setup.class, setup -> setup.value() == Level.Trial));
    try {
      assertEquals(0, HeapAllocation.steady(() -> bytes(state, before, operation)));
    } finally {
      call(state, methods(type, TearDown.class, end -> true));
    }
  }

  /** Returns what the operation allocates in some calls, without what precedes each call. */
  private static long bytes(Object state, List<Method> before, Runnable operation)
      throws Exception {
    long bytes = 0;
    final long deadlineNs = System.nanoTime() + 1_000_000_000L;
    for (int i = 0; i < CALLS && System.nanoTime() < deadlineNs; i++) {
      call(state, before);
      bytes += HeapAllocation.of(1, operation);
    }
    return bytes;
  }

  /** Returns the call of a method without the objects of a reflective one. */
  private static Runnable operation(Object state, Method method) throws Throwable {
    final MethodHandles.Lookup lookup = MethodHandles.lookup();
    final MethodHandle handle = lookup.unreflect(method);
    final MethodType none = MethodType.methodType(void.class);
    return (Runnable)
        LambdaMetafactory.metafactory(
                lookup,
                "run",
                MethodType.methodType(Runnable.class, state.getClass()),
                none,
                handle,
                none)
            .getTarget()
            .invoke(state);
  }

  @Test
  void shouldRunEachBenchmark() throws RunnerException {
    final Collection<RunResult> results =
        new Runner(
                new OptionsBuilder()
                    .forks(0)
                    .mode(Mode.SingleShotTime)
                    .param("rules", "100")
                    .param("endpoints", "1")
                    .warmupIterations(0)
                    .measurementIterations(1)
                    .shouldFailOnError(true)
                    .verbosity(VerboseMode.SILENT)
                    .build())
            .run();
    assertTrue(results.size() >= benchmarks().count(), results.size() + " results");
  }
}
