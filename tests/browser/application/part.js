/** Returns the result of an action that may be forbidden, or the name of its error. */
export async function attempt(something) {
  try {
    return await something();
  } catch (error) {
    return error.name;
  }
}
