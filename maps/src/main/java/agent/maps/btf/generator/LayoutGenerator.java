package agent.maps.btf.generator;

import agent.maps.btf.Btf;
import agent.maps.btf.BtfException;
import agent.maps.btf.BtfType;
import agent.maps.btf.ElfObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Writes the package {@code agent.maps.layout} before it is compiled: what it shares with the
 * programs is in the BTF of {@code tests/layouts.bpf.c} and in the comments of the headers.
 */
public final class LayoutGenerator {
  private static final String TYPES = "layout_";
  private static final String NUMBERS = "numbers_";
  private static final String SIZES = "_size";

  private final Btf btf;
  private final HeaderComments comments;
  private final TreeSet<String> structs = new TreeSet<>();
  private final TreeSet<String> enums = new TreeSet<>();
  private final TreeSet<String> numbers = new TreeSet<>();

  /**
   * Creates the generator.
   *
   * @param headers text by path below the folder of headers
   */
  LayoutGenerator(Btf btf, Map<String, String> headers) {
    this.btf = btf;
    comments = new HeaderComments(headers);
    for (int id = 0; id < btf.size(); id++) {
      if (btf.type(id) instanceof final BtfType.Variable variable) {
        find(variable);
      }
    }
  }

  /**
   * Writes into a folder what the object and the headers ask for, and deletes what else is there.
   *
   * @param arguments the object, the folder of the headers, and the folder to write into
   */
  public static void main(String[] arguments) throws IOException {
    final Path headers = Path.of(arguments[1]);
    final Map<String, String> texts;
    try (Stream<Path> files = Files.walk(headers)) {
      texts =
          files
              .filter(file -> file.toString().endsWith(".h"))
              .collect(Collectors.toMap(it -> headers.relativize(it).toString(), it -> read(it)));
    }
    final Btf btf = Btf.of(ElfObject.parse(Files.readAllBytes(Path.of(arguments[0]))));
    replace(Path.of(arguments[2]), new LayoutGenerator(btf, texts).sources());
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A file that stays as it is keeps its time, so that it is not compiled again. */
  static void replace(Path folder, Map<String, String> sources) throws IOException {
    Files.createDirectories(folder);
    try (Stream<Path> present = Files.list(folder)) {
      for (final Path file : present.toList()) {
        if (!sources.containsKey(file.getFileName().toString())) {
          Files.delete(file);
        }
      }
    }
    for (final Map.Entry<String, String> source : sources.entrySet()) {
      final Path file = folder.resolve(source.getKey());
      if (!Files.exists(file) || !Files.readString(file).equals(source.getValue())) {
        Files.writeString(file, source.getValue());
      }
    }
  }

  private void find(BtfType.Variable variable) {
    final BtfType type = btf.resolve(variable.type());
    if (variable.name().equals(NUMBERS + type.name())) {
      numbers.add(type.name());
    } else if (variable.name().equals(TYPES + type.name())) {
      (type instanceof BtfType.Enumeration ? enums : structs).add(type.name());
    }
  }

  /**
   * Returns the sources by the name of their file.
   *
   * @throws BtfException naming the type and the member that cannot be one of Java
   */
  Map<String, String> sources() {
    final Map<Boolean, List<String>> kinds =
        numbers.stream().collect(Collectors.partitioningBy(name -> name.endsWith(SIZES)));
    final TreeSet<String> linked = new TreeSet<>(enums);
    linked.addAll(kinds.get(false));
    final Javadoc javadoc = new Javadoc(structs, linked);
    final ConstantsSource constants = new ConstantsSource(btf, comments, javadoc);
    final Map<String, String> sources = new TreeMap<>();
    for (final String name : structs) {
      final StructLayout struct = StructLayout.of(btf, name);
      checkNested(struct);
      sources.put(
          JavaNames.flyweight(name) + ".java",
          new FlyweightSource(struct, comments, javadoc).write());
    }
    enums.forEach(name -> sources.put(JavaNames.type(name) + ".java", constants.enumeration(name)));
    for (final String name : kinds.get(false)) {
      sources.put(JavaNames.type(name) + ".java", constants.numbers(name));
    }
    if (!kinds.get(true).isEmpty()) {
      sources.put(
          "MapSize.java",
          constants.numbersOfAll(
              "MapSize", "Sizes and limits of the maps, by their names in C.", kinds.get(true)));
    }
    return sources;
  }

  private void checkNested(StructLayout struct) {
    for (final Field field : struct.fields()) {
      if (field.kind() instanceof Field.Nested(String nested) && !structs.contains(nested)) {
        throw new BtfException(
            "struct %s: member %s: struct %s has no flyweight; show it, too"
                .formatted(struct.name(), field.name(), nested));
      }
    }
  }
}
