package agent.datapath.programs.compile;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Reads the BPF objects: from the jar, or from the cache in the state directory, which it fills by
 * running clang. Reads each object once. For one thread.
 */
public final class ProgramObjects {
  private static final Logger LOGGER = LogManager.getLogger(ProgramObjects.class);
  private static final String SUFFIX = ".bpf.o";

  private final Path cache;
  private final Optional<Path> keptSources;
  private final List<String> clangCandidates;
  private final boolean isDebugging;
  private final Map<ProgramFile, byte[]> read = new EnumMap<>(ProgramFile.class);
  private Optional<Clang> clang;
  private SourceTree sources;

  /**
   * Creates a reader; {@link #read} reads and compiles on demand.
   *
   * @param library directory of compiled objects, in {@code objects}, and of kept sources, in
   *     {@code bpf}; created on demand
   * @param keepsSources whether the kept sources are used in place of the shipped ones
   * @param clangCandidates names or paths of compilers, in order of preference
   * @param isDebugging whether every object is compiled here, and its preprocessed source and its
   *     assembly are kept beside it
   */
  public ProgramObjects(
      Path library, boolean keepsSources, List<String> clangCandidates, boolean isDebugging) {
    cache = library.resolve("objects");
    keptSources = keepsSources ? Optional.of(library.resolve("bpf")) : Optional.empty();
    this.isDebugging = isDebugging;
    this.clangCandidates = clangCandidates;
  }

  /**
   * Returns the bytes of an ELF object.
   *
   * @throws CompileException where clang is missing or cannot compile the source
   */
  public byte[] read(ProgramFile program) {
    byte[] object = read.get(program);
    if (object == null) {
      object =
          !isDebugging && sources().isShipped(program)
              ? SourceTree.resource("bpf/" + program.object())
              : compiled(program);
      read.put(program, object);
    }
    return object;
  }

  private SourceTree sources() {
    if (sources == null) {
      sources = keptSources.map(SourceTree::in).orElse(SourceTree.SHIPPED);
    }
    return sources;
  }

  private byte[] compiled(ProgramFile program) {
    final Map<String, byte[]> files = sources().of(program);
    final List<String> flags = sources().flags();
    final Clang compiler = compiler(program);
    final Path object = cache.resolve(hash(files, flags, compiler) + SUFFIX);
    try {
      if (!Files.exists(object) || isDebugging && !hasSteps(object)) {
        compile(program, files, flags, compiler, object);
      }
      return Files.readAllBytes(object);
    } catch (IOException failure) {
      throw new CompileException(program.source() + ": cache " + cache, failure);
    }
  }

  private Clang compiler(ProgramFile program) {
    if (clang == null || clang.isEmpty()) {
      clang = Clang.find(clangCandidates);
    }
    return clang.orElseThrow(
        () ->
            new CompileException(
                program.source()
                    + ": "
                    + (isDebugging ? "all sources (--bpf-compile-debug)" : "changed sources")
                    + " must be compiled, but clang "
                    + Clang.OLDEST
                    + " or newer was not found (tried "
                    + String.join(", ", clangCandidates)
                    + ")"));
  }

  private void compile(
      ProgramFile program,
      Map<String, byte[]> sources,
      List<String> flags,
      Clang compiler,
      Path object)
      throws IOException {
    Files.createDirectories(
        cache, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    final Path folder = Files.createTempDirectory(cache, "build-");
    try {
      SourceTree.writeTo(folder, sources);
      final Path compiled = folder.resolve(program.object());
      compiler.compile(folder, program.source(), flags, compiled);
      try (FileChannel channel = FileChannel.open(compiled, StandardOpenOption.WRITE)) {
        channel.force(true);
      }
      if (isDebugging) {
        for (final Clang.Step step : Clang.Step.values()) {
          final Path made = folder.resolve(program.stem() + step.suffix());
          final Path kept = kept(object, step);
          compiler.compile(folder, program.source(), with(flags, step.flag()), made);
          Files.move(made, kept, StandardCopyOption.ATOMIC_MOVE);
          LOGGER.info("{}: {} is kept", program.source(), kept);
        }
      }
      Files.move(compiled, object, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      delete(folder);
    }
  }

  private static List<String> with(List<String> flags, String flag) {
    return Stream.concat(flags.stream(), Stream.of(flag)).toList();
  }

  private static boolean hasSteps(Path object) {
    return Arrays.stream(Clang.Step.values()).allMatch(step -> Files.exists(kept(object, step)));
  }

  /** Returns where a step of an object is, beside it. */
  private static Path kept(Path object, Clang.Step step) {
    final String name = object.getFileName().toString();
    return object.resolveSibling(name.replace(SUFFIX, step.suffix()));
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> paths = Files.walk(folder)) {
      for (final Path path : paths.sorted(java.util.Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
  }

  private static String hash(Map<String, byte[]> sources, List<String> flags, Clang compiler) {
    try {
      final MessageDigest digest = MessageDigest.getInstance("SHA-256");
      sources.forEach(
          (path, content) -> {
            put(digest, path.getBytes(StandardCharsets.UTF_8));
            put(digest, content);
          });
      put(digest, String.join("\n", flags).getBytes(StandardCharsets.UTF_8));
      put(digest, compiler.version().getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest.digest());
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private static void put(MessageDigest digest, byte[] content) {
    digest.update(Integer.toString(content.length).getBytes(StandardCharsets.UTF_8));
    digest.update((byte) ':');
    digest.update(content);
  }
}
