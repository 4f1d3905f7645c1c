// Added to each page by the preview server: reload on a change, and stay at the same place.
(() => {
  const key = `place in ${location.pathname}`;
  const place = sessionStorage.getItem(key);
  if (place !== null) {
    sessionStorage.removeItem(key);
    addEventListener("load", () => scrollTo({top: Number(place), behavior: "instant"}));
  }
  new EventSource("/course-live-reload").onmessage = () => {
    sessionStorage.setItem(key, String(scrollY));
    location.reload();
  };
})();
