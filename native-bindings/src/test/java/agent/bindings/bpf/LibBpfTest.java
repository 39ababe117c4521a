package agent.bindings.bpf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.BindingsException;
import agent.testkit.OtherThread;
import org.junit.jupiter.api.Test;

class LibBpfTest {
  @Test
  void shouldReportAMissingLibraryInOneLine() {
    final BindingsException failure =
        assertThrows(BindingsException.class, () -> LibBpf.version("libbpf-that-is-not-here.so.1"));

    assertEquals(
        "libbpf is missing: libbpf-that-is-not-here.so.1 cannot be loaded; install libbpf 1.0 or"
            + " newer (Debian: apt-get install libbpf1)",
        failure.getMessage());
  }

  @Test
  void shouldReportATooOldLibraryInOneLine() {
    final BindingsException failure =
        assertThrows(BindingsException.class, () -> LibBpf.version("libc.so.6"));

    assertEquals(
        "libbpf is too old: libc.so.6 is older than 0.6, but 1.0 or newer is required",
        failure.getMessage());
  }

  @Test
  void shouldLoadTheLibraryOfTheSystem() {
    final LibBpf.Version version = LibBpf.ensureLoaded();

    assertEquals(version, LibBpf.version(LibBpf.SONAME));
    assertTrue(version.major() >= 1, version::toString);
  }

  @Test
  void shouldCountPossibleCpus() {
    assertTrue(LibBpf.possibleCpus() >= Runtime.getRuntime().availableProcessors());
  }

  /** Otherwise one could use the library while the other has not yet taken its messages over. */
  @Test
  void shouldHaveOneThreadWaitForTheOtherThatLoads() throws Exception {
    final OtherThread<LibBpf.Version> other;
    synchronized (LibBpf.class) { // as the other one does
      other = OtherThread.call(LibBpf::ensureLoaded);
      assertTrue(other.waits());
    }
    assertEquals(LibBpf.ensureLoaded(), other.result());
  }
}
