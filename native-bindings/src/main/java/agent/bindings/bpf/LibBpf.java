package agent.bindings.bpf;

import agent.bindings.BindingsException;
import agent.bindings.libbpf.Libbpf;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.concurrent.atomic.AtomicReference;

/** Loads the system's libbpf, checks its version and redirects its messages. */
@SuppressWarnings("restricted") // links native functions and reinterprets segments
public final class LibBpf {
  /** The soname since libbpf 1.0; the development package is not needed. */
  public static final String SONAME = "libbpf.so.1";

  private static final int LEAST_MAJOR = 1;

  private static final AtomicReference<Version> LOADED = new AtomicReference<>();

  private LibBpf() {}

  /**
   * The version of a library.
   *
   * @param major for example 1
   * @param minor for example 1
   */
  public record Version(int major, int minor) {
    @Override
    public String toString() {
      return major + "." + minor;
    }
  }

  /**
   * Loads libbpf and adds its messages to {@link LoadException}s instead of writing them to stderr.
   * The process calls it at its start, before any other method of this package; later calls return
   * at once.
   *
   * @return its version
   * @throws BindingsException with a message of one line, if it is missing or too old
   */
  public static synchronized Version ensureLoaded() {
    if (LOADED.get() == null) {
      final Version version = version(SONAME);
      LibBpfMessages.redirect();
      LOADED.set(version);
    }
    return LOADED.get();
  }

  /**
   * Returns the version of the libbpf library of that name.
   *
   * @param libraryName a name for dlopen(3)
   * @throws BindingsException with a message of one line, if it is missing or too old
   */
  public static Version version(String libraryName) {
    try (Arena arena = Arena.ofConfined()) {
      final SymbolLookup library;
      try {
        library = SymbolLookup.libraryLookup(libraryName, arena);
      } catch (IllegalArgumentException e) {
        throw new BindingsException(
            "libbpf is missing: "
                + libraryName
                + " cannot be loaded; install libbpf "
                + LEAST_MAJOR
                + ".0 or newer (Debian: apt-get install libbpf1)");
      }
      final Version version =
          new Version(
              number(library, libraryName, "libbpf_major_version"),
              number(library, libraryName, "libbpf_minor_version"));
      if (version.major() < LEAST_MAJOR) {
        throw tooOld(libraryName, version.toString());
      }
      return version;
    }
  }

  /**
   * Returns the number of possible CPUs, which is the number of values per key in a per-CPU map.
   */
  public static int possibleCpus() {
    return BindingsException.check(Libbpf.libbpf_num_possible_cpus(), "count of possible CPUs");
  }

  private static int number(SymbolLookup library, String libraryName, String symbol) {
    final MemorySegment address =
        library.find(symbol).orElseThrow(() -> tooOld(libraryName, "older than 0.6"));
    final MethodHandle handle =
        Linker.nativeLinker().downcallHandle(address, FunctionDescriptor.of(ValueLayout.JAVA_INT));
    try {
      return (int) handle.invokeExact();
    } catch (Throwable t) {
      throw new IllegalStateException(symbol, t);
    }
  }

  private static BindingsException tooOld(String libraryName, String version) {
    return new BindingsException(
        "libbpf is too old: "
            + libraryName
            + " is "
            + version
            + ", but "
            + LEAST_MAJOR
            + ".0 or newer is required");
  }
}
