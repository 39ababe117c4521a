package agent.state;

/**
 * Writes and reads the stored documents of one kind. Member names, their order and the text forms
 * are a stable format: every release reads the documents of previous releases byte for byte.
 *
 * @param <T> the content of the document
 */
interface Codec<T> {
  /** Writes a document. The writer checks only that required values are present. */
  void write(DocumentWriter out, T document);

  /**
   * Reads a document.
   *
   * @throws DamagedStateException naming the JSON path, where {@link #write} would not have written
   *     the document
   */
  T read(DocumentReader in) throws DamagedStateException;
}
