package agent.maps.btf.generator;

import agent.maps.btf.BtfException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.lang.model.SourceVersion;

/** Writes the flyweight of one struct. */
final class FlyweightSource {
  /** What a flyweight has of its own, and what every object has. */
  private static final Set<String> TAKEN =
      Set.of("wrap", "clear", "buffer", "offset", "hashCode", "toString", "getClass", "notify");

  private static final String BUFFER = "org.agrona.MutableDirectBuffer";
  private static final String BIG_ENDIAN = "java.nio.ByteOrder.BIG_ENDIAN";
  private static final String SIZES = "org.agrona.BitUtil.";

  private final StructLayout struct;
  private final HeaderComments.Declaration comments;
  private final Javadoc javadoc;
  private final String type;
  private final StringBuilder out = new StringBuilder();

  FlyweightSource(StructLayout struct, HeaderComments comments, Javadoc javadoc) {
    this.struct = struct;
    this.comments = comments.of("struct " + struct.name());
    this.javadoc = javadoc;
    type = JavaNames.flyweight(struct.name());
  }

  /**
   * Returns the source.
   *
   * @throws BtfException if two members would have one name in Java, or one that is taken
   */
  String write() {
    checkNames();
    writeFields();
    writeWrap();
    for (final Field field : struct.fields()) {
      writeAccessors(field);
    }
    out.append("}\n");
    final String body = out.toString();
    return imports(body) + body;
  }

  private void checkNames() {
    final Set<String> accessors = new HashSet<>(TAKEN);
    for (final Field field : struct.fields()) {
      final String accessor = JavaNames.accessor(field.name());
      if (SourceVersion.isKeyword(accessor)) {
        throw refused(field, "'" + accessor + "' is a keyword of Java");
      }
      if (!(field.kind() instanceof Field.Reserved) && !accessors.add(accessor)) {
        throw refused(field, "'" + accessor + "()' would be there twice");
      }
    }
  }

  private BtfException refused(Field field, String what) {
    return new BtfException(
        "struct %s: member %s: %s".formatted(struct.name(), field.name(), what));
  }

  private String imports(String body) {
    final StringBuilder imports = new StringBuilder("package agent.maps.layout;\n\n");
    final List<String> fixed =
        List.of(BIG_ENDIAN, SIZES + "SIZE_OF_INT", SIZES + "SIZE_OF_LONG", SIZES + "SIZE_OF_SHORT");
    boolean isAny = false;
    for (final String name : fixed) {
      if (body.contains(name.substring(name.lastIndexOf('.') + 1))) {
        imports.append("import static ").append(name).append(";\n");
        isAny = true;
      }
    }
    return imports.append(isAny ? "\n" : "").append("import " + BUFFER + ";\n\n").toString();
  }

  private void writeFields() {
    out.append(Javadoc.comment("", description(), table()));
    out.append("public final class ").append(type).append(" {\n");
    for (final Field field : struct.fields()) {
      out.append("  public static final int ").append(offset(field)).append(" = ");
      out.append(field.offset()).append(";\n");
      if (field.kind() instanceof Field.Number && field.count() > 0) {
        out.append("  public static final int ").append(JavaNames.constant(field.name()));
        out.append("_COUNT = ").append(field.count()).append(";\n");
      }
    }
    out.append("  public static final int LENGTH = ").append(struct.length()).append(";\n\n");
    for (final Field field : struct.fields()) {
      if (field.kind() instanceof Field.Nested(String nested)) {
        final String flyweight = JavaNames.flyweight(nested);
        out.append("  private final ").append(flyweight).append(' ');
        out.append(JavaNames.accessor(field.name()));
        out.append(" = new ").append(flyweight).append("();\n");
      }
    }
    out.append("  private MutableDirectBuffer buffer;\n  private int offset;\n\n");
  }

  private String description() {
    final String declared =
        "{@code struct " + struct.name() + "} in {@code " + comments.header() + "}.";
    final String comment = javadoc.sentence(comments.comment());
    return (comment.isEmpty() ? "" : comment + "\n\n") + declared + " Offsets and members:";
  }

  private String table() {
    final StringBuilder table = new StringBuilder("<pre>\n");
    for (final Field field : struct.fields()) {
      table.append("%4d  %s\n".formatted(field.offset(), field.inC()));
    }
    return table.append("</pre>\n").toString();
  }

  private void writeWrap() {
    comment("Wraps {@value #LENGTH} bytes of the buffer from {@code offset}.");
    out.append("  public ")
        .append(type)
        .append(" wrap(MutableDirectBuffer buffer, int offset) {\n");
    out.append("    this.buffer = buffer;\n    this.offset = offset;\n");
    for (final Field field : struct.fields()) {
      if (field.kind() instanceof Field.Nested) {
        final String nested = JavaNames.accessor(field.name());
        out.append("    ").append(nested).append(".wrap(buffer, ").append(at(field)).append(");\n");
      }
    }
    out.append("    return this;\n  }\n\n");
    comment("Sets every byte to zero, including the reserved ones.");
    setter("clear", "", "buffer.setMemory(offset, LENGTH, (byte) 0);");
    comment("Returns the buffer that is wrapped.");
    getter("MutableDirectBuffer", "buffer", "", "buffer");
    comment("Returns where the struct begins in the buffer.");
    getter("int", "offset", "", "offset");
    out.setLength(out.length() - 1); // each accessor begins with an empty line
  }

  private void writeAccessors(Field field) {
    switch (field.kind()) {
      case Field.Number number -> writeNumber(field, number);
      case Field.Bits bits -> writeBits(field, bits);
      case Field.Flag _ -> writeFlag(field);
      case Field.Mac _ -> writeMac(field);
      case Field.Ipv4 _ -> writeIpv4(field);
      case Field.Ipv6 _ -> writeIpv6(field);
      case Field.Nested(String nested) -> {
        out.append('\n');
        comment("Returns {@code " + field.name() + "}" + aside(field) + '.');
        final String accessor = JavaNames.accessor(field.name());
        getter(JavaNames.flyweight(nested), accessor, "", accessor);
        out.setLength(out.length() - 1);
      }
      case Field.Reserved _ -> {}
    }
  }

  private void writeNumber(Field field, Field.Number number) {
    final String index = field.count() > 0 ? "int index" : "";
    final String member = field.name() + (field.count() > 0 ? "[index]" : "");
    final String order = number.isBigEndian() ? ", BIG_ENDIAN" : "";
    final String place =
        at(field)
            + (field.count() == 0
                ? ""
                : switch (number.bytes()) {
                  case 1 -> " + index";
                  case 2 -> " + index * SIZE_OF_SHORT";
                  case 4 -> " + index * SIZE_OF_INT";
                  default -> " + index * SIZE_OF_LONG";
                });
    final String subject =
        "{@code " + member + "}" + (number.isBigEndian() ? " in host byte order" : "");
    final String read =
        switch (number.bytes()) {
          case 1 -> "buffer.getByte(" + place + ") & 0xff";
          case 2 -> "buffer.getShort(" + place + order + ") & 0xffff";
          case 4 -> "buffer.getInt(" + place + order + ")";
          default -> "buffer.getLong(" + place + order + ")";
        };
    final String write =
        switch (number.bytes()) {
          case 1 -> "buffer.putByte(" + place + ", (byte) value);";
          case 2 -> "buffer.putShort(" + place + ", (short) value" + order + ");";
          case 4 -> "buffer.putInt(" + place + ", value" + order + ");";
          default -> "buffer.putLong(" + place + ", value" + order + ");";
        };
    writePair(
        field,
        new Pair(number.bytes() == Long.BYTES ? "long" : "int", index, subject, read, write));
  }

  private void writeBits(Field field, Field.Bits bits) {
    final String mask = "0x" + Integer.toHexString(-1 >>> Integer.SIZE - bits.width());
    final String shift = bits.shift() == 0 ? "" : " >>> " + bits.shift();
    final String word = "buffer.getInt(" + at(field) + ")";
    final String others =
        "0x" + Integer.toHexString(~(-1 >>> Integer.SIZE - bits.width() << bits.shift()));
    final String placed =
        "(value & " + mask + ")" + (bits.shift() == 0 ? "" : " << " + bits.shift());
    writePair(
        field,
        new Pair(
            "int",
            "",
            "{@code " + field.name() + "}, " + bits.width() + " bits",
            word + shift + " & " + mask,
            "final int others = "
                + word
                + " & "
                + others
                + ";\n    buffer.putInt("
                + at(field)
                + ", others | "
                + placed
                + ");"));
  }

  private void writeFlag(Field field) {
    writePair(
        field,
        new Pair(
            "boolean",
            "",
            "{@code " + field.name() + "}",
            "buffer.getByte(" + at(field) + ") != 0",
            "buffer.putByte(" + at(field) + ", (byte) (value ? 1 : 0));"));
  }

  private void writeMac(Field field) {
    final String last = at(field) + " + SIZE_OF_INT";
    writePair(
        field,
        new Pair(
            "long",
            "",
            "{@code " + field.name() + "}, first octet most significant",
            "(buffer.getInt("
                + at(field)
                + ", BIG_ENDIAN) & 0xffff_ffffL) << 16\n        | buffer.getShort("
                + last
                + ", BIG_ENDIAN) & 0xffffL",
            "buffer.putInt("
                + at(field)
                + ", (int) (value >>> 16), BIG_ENDIAN);\n    buffer.putShort("
                + last
                + ", (short) value, BIG_ENDIAN);"));
  }

  private void writeIpv4(Field field) {
    writePair(
        field,
        new Pair(
            "int",
            "",
            "{@code " + field.name() + "} as a number, first octet most significant",
            "buffer.getInt(" + at(field) + ", BIG_ENDIAN)",
            "buffer.putInt(" + at(field) + ", value, BIG_ENDIAN);"));
  }

  private void writeIpv6(Field field) {
    final String accessor = JavaNames.accessor(field.name());
    final String member = "{@code " + field.name() + "}" + aside(field) + '.';
    final String low = at(field) + " + SIZE_OF_LONG";
    out.append('\n');
    comment("Returns the upper 64 bits of " + member);
    getter("long", accessor + "High", "", "buffer.getLong(" + at(field) + ", BIG_ENDIAN)");
    comment("Returns the lower 64 bits of " + member);
    getter("long", accessor + "Low", "", "buffer.getLong(" + low + ", BIG_ENDIAN)");
    comment("Sets " + member);
    setter(
        accessor,
        "long high, long low",
        "buffer.putLong("
            + at(field)
            + ", high, BIG_ENDIAN);\n    buffer.putLong("
            + low
            + ", low, BIG_ENDIAN);");
    out.setLength(out.length() - 1);
  }

  /** What a getter and a setter of one member do. */
  private record Pair(String type, String index, String subject, String read, String write) {}

  private void writePair(Field field, Pair pair) {
    final String accessor = JavaNames.accessor(field.name());
    out.append('\n');
    comment("Returns " + pair.subject + aside(field) + '.');
    getter(pair.type, accessor, pair.index, pair.read);
    comment("Sets " + pair.subject + aside(field) + '.');
    final String index = pair.index.isEmpty() ? "" : pair.index + ", ";
    setter(accessor, index + pair.type + " value", pair.write);
    out.setLength(out.length() - 1);
  }

  private void getter(String result, String name, String parameters, String expression) {
    out.append("  public ").append(result).append(' ').append(name);
    out.append('(').append(parameters).append(") {\n");
    out.append("    return ").append(expression).append(";\n  }\n\n");
  }

  private void setter(String name, String parameters, String statements) {
    out.append("  public ").append(type).append(' ').append(name);
    out.append('(').append(parameters).append(") {\n");
    out.append("    ").append(statements).append("\n    return this;\n  }\n\n");
  }

  private void comment(String text) {
    out.append(Javadoc.comment("  ", text));
  }

  private String aside(Field field) {
    return javadoc.aside(comments.of(inHeader(field)));
  }

  /** The name behind that of an unnamed struct, which the header has on its own. */
  private String inHeader(Field field) {
    String name = field.name();
    while (!comments.members().containsKey(name) && name.indexOf('_') > 0) {
      name = name.substring(name.indexOf('_') + 1);
    }
    return comments.members().containsKey(name) ? name : field.name();
  }

  private static String at(Field field) {
    return "offset + " + offset(field);
  }

  private static String offset(Field field) {
    return JavaNames.constant(field.name()) + "_OFFSET";
  }
}
