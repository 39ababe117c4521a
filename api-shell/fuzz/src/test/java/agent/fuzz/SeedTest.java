package agent.fuzz;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The seeds of each target hold its properties without a fuzzer, too. */
class SeedTest {
  @ParameterizedTest
  @EnumSource(FuzzTarget.class)
  void shouldHoldForEachSeed(FuzzTarget target) throws Exception {
    assertTrue(target.seeds().size() >= 4, "seeds of " + target);
    for (final Method method : target.type().getMethods()) {
      if (method.getName().equals("fuzzerInitialize")) {
        method.invoke(null);
      }
    }
    for (final byte[] seed : target.seeds()) {
      target.type().getMethod("fuzzerTestOneInput", byte[].class).invoke(null, (Object) seed);
    }
  }
}
