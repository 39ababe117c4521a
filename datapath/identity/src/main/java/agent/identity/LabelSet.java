package agent.identity;

import agent.types.Prefix;
import agent.types.Refusal;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * An immutable set of labels in the order of source and key, at most one value for each source and
 * key. Two sets are equal where their labels are.
 */
public final class LabelSet implements Iterable<Label> {
  /** No label. */
  public static final LabelSet EMPTY = new LabelSet(List.of());

  private final List<Label> labels;
  private final int hash;
  private final Prefix cidrOrNull;
  private final Prefix namedOrNull;

  private LabelSet(List<Label> sorted) {
    this(sorted, null, null);
  }

  private LabelSet(List<Label> sorted, Prefix cidrOrNull, Prefix namedOrNull) {
    labels = sorted;
    hash = sorted.hashCode();
    this.cidrOrNull = cidrOrNull;
    this.namedOrNull = namedOrNull;
  }

  /**
   * Returns the labels of a CIDR outside the cluster: {@code cidr:prefix}, {@code reserved:world}.
   */
  public static LabelSet ofCidr(Prefix prefix) {
    final Label cidr = new Label(Label.CIDR, prefix.toString(), "");
    final List<Label> inOrder = List.of(cidr, ReservedIdentity.WORLD.label());
    return new LabelSet(inOrder, prefix, null);
  }

  /**
   * Returns the labels of addresses outside the cluster that names have in common: those of the
   * names, {@code reserved:world} and the label of the family.
   *
   * @param names labels of source {@link Label#FQDN} or {@link Label#SERVICE}
   * @param ipv4 the family
   */
  public static LabelSet ofNames(Collection<Label> names, boolean ipv4) {
    final List<Label> all = new ArrayList<>(names);
    all.add(ReservedIdentity.WORLD.label());
    all.add(ReservedIdentity.world(ipv4).label());
    all.sort(null);
    return new LabelSet(List.copyOf(all), null, ipv4 ? Prefix.ALL_IPV4 : Prefix.ALL_IPV6);
  }

  /** Returns the set of these labels; the same label may be named more than once. */
  public static LabelSet of(Label... labels) {
    return of(List.of(labels));
  }

  /**
   * Returns the set of these labels; the same label may be named more than once.
   *
   * @param labels in any order
   * @return the set
   * @throws Refusal INVALID without a field, where one key of one source has two values
   */
  public static LabelSet of(Collection<Label> labels) {
    final TreeMap<String, Label> byName = new TreeMap<>();
    for (final Label label : labels) {
      final Label before = byName.put(label.source() + ":" + label.key(), label);
      if (before != null && !before.equals(label)) {
        throw Refusal.invalid("", "conflicting labels '" + before + "' and '" + label + "'");
      }
    }
    if (byName.isEmpty()) {
      return EMPTY;
    }
    final List<Label> sorted = new ArrayList<>(byName.values());
    sorted.sort(null);
    return new LabelSet(List.copyOf(sorted));
  }

  /**
   * Reads labels in their display form.
   *
   * @param field the field that holds the list
   * @param texts the labels
   * @return the set
   * @throws Refusal INVALID, of {@code field[index]} or of the field
   */
  public static LabelSet parse(String field, Collection<String> texts) {
    final List<Label> labels = new ArrayList<>(texts.size());
    int index = 0;
    for (final String text : texts) {
      labels.add(Label.parse(field + "[" + index++ + "]", text));
    }
    try {
      return of(labels);
    } catch (Refusal refusal) {
      throw refusal.at(field);
    }
  }

  /**
   * Reads labels that a caller of the API gives to an endpoint: as {@link #parse}, and the sources
   * {@code reserved} and {@code cidr} are refused, because with them the endpoint would be taken
   * for the host or the world.
   *
   * @param field the field that holds the list
   * @param texts the labels
   * @return the set
   * @throws Refusal INVALID
   */
  public static LabelSet parseUser(String field, Collection<String> texts) {
    final LabelSet labels = parse(field, texts);
    for (final Label label : labels) {
      if (label.source().equals(Label.RESERVED) || label.source().equals(Label.CIDR)) {
        throw Refusal.invalid(
            field, "'" + label + "': source '" + label.source() + "' is reserved for the agent");
      }
    }
    return labels;
  }

  /** Returns the display forms in order. */
  public List<String> toStrings() {
    return labels.stream().map(Label::toString).toList();
  }

  /** Returns the labels in order. */
  public Stream<Label> stream() {
    return labels.stream();
  }

  /** Returns the CIDR that one of the labels names, if any. */
  Optional<Prefix> cidr() {
    return cidrOrNull != null
        ? Optional.of(cidrOrNull)
        : labels.stream()
            .filter(label -> label.source().equals(Label.CIDR))
            .map(label -> Prefix.parse(label.key()))
            .findFirst();
  }

  /** Returns all addresses of the family where these are the labels of names outside. */
  Optional<Prefix> named() {
    return Optional.ofNullable(namedOrNull);
  }

  /** Returns whether a label is one of these. */
  public boolean contains(Label label) {
    return labels.contains(label);
  }

  /** Returns whether there is no label. */
  public boolean isEmpty() {
    return labels.isEmpty();
  }

  /** Returns this set with one label added; it replaces one with the same source and key. */
  public LabelSet with(Label label) {
    final List<Label> all = new ArrayList<>(labels);
    all.removeIf(other -> other.source().equals(label.source()) && other.key().equals(label.key()));
    all.add(label);
    return of(all);
  }

  /** Returns the form that is hashed: {@code source:key=value;} for each label in order. */
  public String serialised() {
    final StringBuilder text = new StringBuilder();
    for (final Label label : labels) {
      text.append(label.source()).append(':').append(label.key()).append('=');
      text.append(label.value()).append(';');
    }
    return text.toString();
  }

  /** Returns the SHA-256 of {@link #serialised()} in UTF-8, as 64 lower-case hexadecimal digits. */
  public String sha256() {
    try {
      final MessageDigest digest = MessageDigest.getInstance("SHA-256");
      return HexFormat.of().formatHex(digest.digest(serialised().getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }

  @Override
  public Iterator<Label> iterator() {
    return labels.iterator();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof LabelSet that && hash == that.hash && labels.equals(that.labels);
  }

  @Override
  public int hashCode() {
    return hash;
  }

  @Override
  public String toString() {
    return labels.toString();
  }
}
