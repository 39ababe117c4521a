package agent.datapath.programs.compile;

import agent.datapath.spec.DatapathContext;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A copy of the shipped sources with one changed line. The programs that a test loads are compiled
 * from it as at run time, and no others: compiling is most of the time of a planted bug.
 */
public final class MutatedSources {
  private static final long SED_SEC = 30;

  /** A bug may leave a parameter unused. */
  private static final String NO_WARNINGS = "-w";

  private final Clang clang =
      Clang.find(new DatapathContext().clangCandidates())
          .orElseThrow(() -> new CompileException("no clang is installed"));
  private final Map<ProgramFile, Map<String, byte[]>> sources = new EnumMap<>(ProgramFile.class);
  private final Map<ProgramFile, Path> objects = new EnumMap<>(ProgramFile.class);
  private final Path scratch;
  private String changedFile;
  private byte[] content;

  /** Reads the sources; the folder receives the changed files and the objects. */
  public MutatedSources(Path scratch) {
    this.scratch = scratch;
    for (final ProgramFile program : ProgramFile.values()) {
      sources.put(program, SourceTree.SHIPPED.of(program));
    }
  }

  /**
   * Changes one line of a file; {@link #object} compiles the programs that contain it.
   *
   * @param file path under {@code bpf-src}
   * @param sed script of sed
   * @throws IllegalArgumentException where the script changes no line, more than one, or a file
   *     that no program contains
   */
  public void change(String file, String sed) throws IOException {
    restore();
    for (final Map<String, byte[]> files : sources.values()) {
      if (files.containsKey(file)) {
        changedFile = file;
        content = changed(Files.createDirectories(scratch), files.get(file), sed);
        return;
      }
    }
    throw new IllegalArgumentException("no program contains " + file);
  }

  /** Undoes the change, and removes its objects. */
  public void restore() throws IOException {
    changedFile = null;
    for (final Path object : objects.values()) {
      Files.delete(object);
    }
    objects.clear();
  }

  /**
   * Returns the object of a program with the change, where it contains the changed file.
   *
   * @param resource path of the shipped object in the jar
   * @throws CompileException where the changed program cannot be compiled
   */
  public Optional<Path> object(String resource) throws IOException {
    for (final ProgramFile program : ProgramFile.values()) {
      if (changedFile != null
          && resource.equals("bpf/" + program.object())
          && sources.get(program).containsKey(changedFile)) {
        if (!objects.containsKey(program)) {
          objects.put(program, compiled(program));
        }
        return Optional.of(objects.get(program));
      }
    }
    return Optional.empty();
  }

  private Path compiled(ProgramFile program) throws IOException {
    final List<String> flags = new ArrayList<>(SourceTree.SHIPPED.flags());
    flags.add(NO_WARNINGS);
    final Path object = scratch.resolve(program.object());
    SourceTree.writeTo(scratch, sources.get(program));
    Files.write(scratch.resolve(changedFile), content);
    clang.compile(scratch, program.source(), flags, object);
    return object;
  }

  private static byte[] changed(Path folder, byte[] original, String sed) throws IOException {
    final Path source = folder.resolve("original");
    final Path output = folder.resolve("changed");
    Files.write(source, original);
    final Process process =
        new ProcessBuilder("sed", "-e", sed, source.toString())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      if (!process.waitFor(SED_SEC, TimeUnit.SECONDS) || process.exitValue() != 0) {
        throw new IllegalArgumentException("sed: " + Files.readString(output));
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IOException("sed was interrupted", interrupted);
    }
    final int lines = changedLines(Files.readAllLines(source), Files.readAllLines(output));
    if (lines != 1) {
      throw new IllegalArgumentException("the script changes " + lines + " lines instead of one");
    }
    return Files.readAllBytes(output);
  }

  /** Returns the number of lines between the first and the last changed line of the original. */
  private static int changedLines(List<String> before, List<String> after) {
    final int shorter = Math.min(before.size(), after.size());
    int same = 0;
    while (same < shorter && before.get(same).equals(after.get(same))) {
      same++;
    }
    int end = 0;
    while (end < shorter - same
        && before.get(before.size() - 1 - end).equals(after.get(after.size() - 1 - end))) {
      end++;
    }
    return before.size() - same - end;
  }
}
