package agent.policy.resolve;

import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyVerdict;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.request.Expression;
import agent.policy.request.HttpRule;
import agent.policy.request.HttpVerdict.Action;
import agent.policy.request.HttpVerdict.HeaderChange;
import agent.policy.rule.NamePattern;
import agent.policy.rule.PortMatch;
import agent.policy.rule.RequestRules;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.BiFunction;

/** Writes and reads what a policy says of requests: its entries and its rules of requests. */
public final class ResolvedPolicyCodec {
  private static final PolicyDirection[] DIRECTIONS = PolicyDirection.values();
  private static final RedirectKind[] KINDS = RedirectKind.values();
  private static final Action[] ACTIONS = Action.values();

  /** A longer text has no field of a rule. */
  private static final int LONGEST_TEXT = 1 << 20;

  private ResolvedPolicyCodec() {}

  /** Writes an element of a list. */
  private interface Writer<T> {
    void write(DataOutput out, T value) throws IOException;
  }

  /** Reads an element of a list. */
  private interface Reader<T> {
    T read(DataInput in) throws IOException;
  }

  /** Writes a policy. */
  public static void write(DataOutput out, ResolvedPolicy policy) throws IOException {
    out.writeLong(policy.revision());
    out.writeInt(policy.identity());
    writeList(out, policy.entries(), ResolvedPolicyCodec::writeEntry);
    writeList(out, policy.requests(), ResolvedPolicyCodec::writeSection);
  }

  /**
   * Reads a policy, which has only what is asked for requests.
   *
   * @param expressions returns the expression of a text, whose case matters or not
   * @throws IOException where it is none
   */
  public static ResolvedPolicy read(
      DataInput in, BiFunction<String, Boolean, Expression> expressions) throws IOException {
    final long revision = in.readLong();
    final int identity = in.readInt();
    final List<PolicyEntry> entries = readList(in, ResolvedPolicyCodec::readEntry);
    final List<RequestSection> sections =
        readList(in, section -> readSection(section, expressions));
    return new ResolvedPolicy(
        revision, identity, entries, null, null, Set.of(), Set.of(), sections);
  }

  private static <T> void writeList(DataOutput out, List<T> values, Writer<T> writer)
      throws IOException {
    out.writeInt(values.size());
    for (final T value : values) {
      writer.write(out, value);
    }
  }

  private static <T> List<T> readList(DataInput in, Reader<T> reader) throws IOException {
    final int size = in.readInt();
    final List<T> values = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      values.add(reader.read(in));
    }
    return List.copyOf(values);
  }

  private static void writeEntry(DataOutput out, PolicyEntry entry) throws IOException {
    out.writeInt(entry.identity());
    out.writeByte(entry.direction().ordinal());
    out.writeByte(entry.protocol());
    out.writeShort(entry.port());
    out.writeByte(entry.prefixLength());
    out.writeByte(entry.verdict().flags());
    out.writeShort(entry.verdict().redirect());
  }

  private static PolicyEntry readEntry(DataInput in) throws IOException {
    return new PolicyEntry(
        in.readInt(),
        DIRECTIONS[in.readUnsignedByte()],
        in.readUnsignedByte(),
        in.readUnsignedShort(),
        in.readUnsignedByte(),
        new PolicyVerdict(in.readUnsignedByte(), in.readUnsignedShort()));
  }

  private static void writeSection(DataOutput out, RequestSection section) throws IOException {
    out.writeByte(section.direction().ordinal());
    final List<Integer> peers = section.peers();
    out.writeBoolean(peers != null);
    if (peers != null) {
      writeList(out, peers, DataOutput::writeInt);
    }
    writeList(
        out,
        section.matches(),
        (to, match) -> {
          to.writeByte(match.protocol());
          to.writeShort(match.port());
          to.writeByte(match.prefixLength());
        });
    final RequestRules rules = section.rules();
    out.writeByte(rules.kind().ordinal());
    writeList(out, rules.http(), ResolvedPolicyCodec::writeRule);
    writeList(out, rules.dns(), (to, pattern) -> writeText(to, pattern.toString()));
  }

  private static RequestSection readSection(
      DataInput in, BiFunction<String, Boolean, Expression> expressions) throws IOException {
    final PolicyDirection direction = DIRECTIONS[in.readUnsignedByte()];
    final List<Integer> peers = in.readBoolean() ? readList(in, DataInput::readInt) : null;
    final List<PortMatch> matches =
        readList(
            in,
            from ->
                new PortMatch(
                    from.readUnsignedByte(), from.readUnsignedShort(), from.readUnsignedByte()));
    final RedirectKind kind = KINDS[in.readUnsignedByte()];
    final List<HttpRule> http = readList(in, from -> readRule(from, expressions));
    final List<NamePattern> dns =
        readList(in, from -> NamePattern.parse("pattern", readText(from)));
    return new RequestSection(direction, peers, matches, new RequestRules(kind, http, dns));
  }

  private static void writeRule(DataOutput out, HttpRule rule) throws IOException {
    writeExpression(out, rule.method());
    writeExpression(out, rule.path());
    writeExpression(out, rule.host());
    writeList(
        out,
        rule.headers(),
        (to, header) -> {
          writeText(to, header.name());
          writeText(to, header.value());
        });
    writeList(
        out,
        rule.changes(),
        (to, change) -> {
          to.writeByte(change.action().ordinal());
          writeText(to, change.name());
          writeText(to, change.value());
        });
  }

  private static HttpRule readRule(
      DataInput in, BiFunction<String, Boolean, Expression> expressions) throws IOException {
    return new HttpRule(
        readExpression(in, expressions),
        readExpression(in, expressions),
        readExpression(in, expressions),
        readList(in, from -> new HttpRule.Header(readText(from), readText(from))),
        readList(
            in,
            from ->
                new HeaderChange(
                    ACTIONS[from.readUnsignedByte()], readText(from), readText(from))));
  }

  private static void writeExpression(DataOutput out, Expression expression) throws IOException {
    writeText(out, expression == null ? null : expression.toString());
    out.writeBoolean(expression != null && expression.foldsCase());
  }

  private static Expression readExpression(
      DataInput in, BiFunction<String, Boolean, Expression> expressions) throws IOException {
    final String text = readText(in);
    final boolean foldsCase = in.readBoolean();
    return text == null ? null : expressions.apply(text, foldsCase);
  }

  /** Writes a text; null is one that is not there. */
  private static void writeText(DataOutput out, String text) throws IOException {
    if (text == null) {
      out.writeInt(-1);
      return;
    }
    final byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    out.writeInt(bytes.length);
    out.write(bytes);
  }

  private static String readText(DataInput in) throws IOException {
    final int length = in.readInt();
    if (length < 0) {
      return null;
    }
    if (length > LONGEST_TEXT) {
      throw new IOException("a policy has a text of " + length + " bytes");
    }
    final byte[] bytes = new byte[length];
    in.readFully(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
